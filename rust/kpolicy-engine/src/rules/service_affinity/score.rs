//! The score: labels over whose values the pods of a service spread.
//!
//! Specification: pods of the pod's first service by name count, on feasible nodes. Each label
//! gives a node 100 less the share of these pods on nodes with the same value; a node without the
//! label gets nothing for it. Several labels are averaged.

use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{Kind, Selector};
use crate::rules::default_selector::{of_labels, services};
use crate::rules::selected_pods::{SelectedPods, moves_nodes, share_left};
use crate::rules::{Feasible, HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::ServiceAffinity;

#[derive(Debug)]
struct PreparedServiceScore {
    identity: Shared<Identity>,
    labels: Box<[Box<str>]>,
    pods: SelectedPods,
}

impl Score for ServiceAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if !self.anti_affinity.is_empty() {
            key.push(pod.identity.id());
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        if self.anti_affinity.is_empty() {
            return None;
        }
        let selector = first_selector(&pod.identity, cluster);
        Some(Box::new(PreparedServiceScore {
            identity: pod.identity.clone(),
            labels: self.anti_affinity.clone(),
            pods: SelectedPods::of(pod.namespace(), selector, cluster),
        }))
    }

    fn kinds(&self) -> &[Kind] {
        if self.anti_affinity.is_empty() { &[] } else { &[Kind::Service] }
    }
}

/// Without a service it is empty and counts no pod.
fn first_selector(identity: &Identity, cluster: &Cluster) -> Selector {
    let first = services(identity, cluster).next();
    first.map(|service| of_labels(&service.selector)).unwrap_or_default()
}

impl PreparedScore for PreparedServiceScore {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS).and_load()
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let is_service = |change: &Change| matches!(change, Change::Object(Kind::Service));
        let selects_others = || first_selector(&self.identity, cluster) != *self.pods.selector();
        if moves_nodes(changes) || (changes.iter().any(is_service) && selects_others()) {
            return Refresh::Again;
        }
        self.pods.follow(changes);
        Refresh::Nodes
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        self.pods.at(node.slot.index())
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Whole
    }

    fn normalize_all(
        &self,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        let counted =
            || raw.iter().zip(feasible.mask).map(|(pods, has)| if *has { *pods } else { 0.0 });
        let all: f64 = counted().sum();
        let mut sums = vec![0.0_f64; normalized.len()];
        for label in &self.labels {
            let domains = cluster.nodes().domains(label);
            let mut by_domain = vec![0.0_f64; domains.len()];
            for (id, pods) in domains.ids().iter().zip(counted()) {
                if let Some(cell) = by_domain.get_mut(*id as usize) {
                    *cell += pods;
                }
            }
            let worth: Vec<f64> =
                by_domain.iter().map(|pods| share_left(*pods, all) / count(&self.labels)).collect();
            for (sum, id) in sums.iter_mut().zip(domains.ids()) {
                let worth = worth.get(*id as usize).filter(|_| *id != ABSENT);
                *sum += worth.copied().unwrap_or(0.0);
            }
        }
        for (cell, sum) in normalized.iter_mut().zip(sums) {
            *cell = truncated(sum);
        }
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.labels.heap_bytes() + self.pods.heap_bytes())
    }
}

fn count(labels: &[Box<str>]) -> f64 {
    labels.iter().fold(0.0, |count, _| count + 1.0)
}

#[allow(clippy::cast_possible_truncation)]
fn truncated(value: f64) -> i64 {
    value as i64
}
