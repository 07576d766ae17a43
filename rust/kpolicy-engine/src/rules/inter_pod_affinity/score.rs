//! The score: preferences of the pod for pods on nodes, and of pods on nodes for the pod.

use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{Kind, Labels};
use crate::rules::{HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score};
use crate::snapshot::pod::{Identity, PodAffinity};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeSlot, NodeView, Pod};

use super::InterPodAffinity;
use super::counts::TopologySums;
use super::terms::{Incoming, means_existing, means_incoming};

#[derive(Debug)]
struct PreparedAffinityScore {
    rule: InterPodAffinity,
    identity: Shared<Identity>,
    affinity: Shared<PodAffinity>,
    namespace_labels: Labels,
    sums: TopologySums,
    /// How many times a term of some pod met a node with the term's key. Without any, the rule has
    /// nothing to say; terms that cancel each other out still speak.
    contributions: i64,
}

/// A topology key, and what a pod on a node adds to its domain there.
type Worth = Vec<(Box<str>, i64)>;

impl Score for InterPodAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.identity.id());
        key.push(pod.template.pod_affinity.id());
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let (identity, affinity) = (pod.identity.clone(), pod.template.pod_affinity.clone());
        let prefers = !affinity.preferred.is_empty() || !affinity.anti_preferred.is_empty();
        if self.ignores_others_preferences && !prefers {
            return None;
        }
        let namespace_labels =
            cluster.namespace_labels(&identity.namespace).cloned().unwrap_or_default();
        let mut prepared = PreparedAffinityScore {
            rule: *self,
            identity,
            affinity,
            namespace_labels,
            sums: TopologySums::default(),
            contributions: 0,
        };
        prepared.count_all(cluster);
        Some(Box::new(prepared))
    }

    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Namespace]
    }
}

impl PreparedAffinityScore {
    fn count_all(&mut self, cluster: &Cluster) {
        if !self.affinity.preferred.is_empty() || !self.affinity.anti_preferred.is_empty() {
            for row in cluster.census().identities() {
                let worth = self.worth_to_us(&row.what, cluster);
                for (slot, tally) in &row.by_node {
                    self.add_worth(cluster, *slot, &worth, i64::from(tally.pods));
                }
            }
        }
        for row in cluster.census().asking() {
            let worth = self.worth_to_them(&row.what.affinity, &row.what.namespace);
            for (slot, tally) in &row.by_node {
                self.add_worth(cluster, *slot, &worth, i64::from(tally.pods));
            }
        }
    }

    /// By the pod's own preferences.
    fn worth_to_us(&self, existing: &Identity, cluster: &Cluster) -> Worth {
        let owner = &self.identity.namespace;
        let meant = |terms: &[(i32, crate::model::PodAffinityTerm)], sign: i64| -> Worth {
            let terms = terms.iter();
            terms
                .filter(|(_, term)| means_existing(term, owner, existing, cluster))
                .map(|(weight, term)| (term.topology_key.clone(), sign * i64::from(*weight)))
                .collect()
        };
        let mut worth = meant(&self.affinity.preferred, 1);
        worth.extend(meant(&self.affinity.anti_preferred, -1));
        worth
    }

    /// By what a pod on a node requires and prefers.
    fn worth_to_them(&self, affinity: &PodAffinity, namespace: &str) -> Worth {
        let incoming =
            Incoming { identity: &self.identity, namespace_labels: &self.namespace_labels };
        let hard = self.rule.hard_weight;
        let required = affinity.required.iter().filter(|_| hard > 0).map(|term| (hard, term));
        let preferred = affinity.preferred.iter().map(|(weight, term)| (i64::from(*weight), term));
        let avoided =
            affinity.anti_preferred.iter().map(|(weight, term)| (-i64::from(*weight), term));
        required
            .chain(preferred)
            .chain(avoided)
            .filter(|(_, term)| means_incoming(term, namespace, incoming))
            .map(|(weight, term)| (term.topology_key.clone(), weight))
            .collect()
    }

    fn add_worth(&mut self, cluster: &Cluster, slot: NodeSlot, worth: &Worth, pods: i64) {
        for (key, weight) in worth {
            if cluster.nodes().domains(key).id(slot) != 0 {
                self.contributions += pods;
                self.sums.add(cluster, key, slot, weight.saturating_mul(pods));
            }
        }
    }

    /// Whether any sum may have moved.
    fn add(&mut self, cluster: &Cluster, slot: NodeSlot, pod: &Pod, pods: i64) -> bool {
        let mut worth = self.worth_to_us(&pod.identity, cluster);
        if !pod.template.pod_affinity.is_empty() {
            worth.extend(self.worth_to_them(&pod.template.pod_affinity, pod.namespace()));
        }
        self.add_worth(cluster, slot, &worth, pods);
        !worth.is_empty()
    }
}

impl PreparedScore for PreparedAffinityScore {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let relabels = NodeParts::LABELS.with(NodeParts::EXISTENCE);
        let is_stale = changes.iter().any(|change| match change {
            Change::Node(_, parts) => parts.meets(relabels),
            Change::Object(kind) => *kind == Kind::Namespace,
            Change::PodPut(..) | Change::PodTaken(..) => false,
        });
        if is_stale || !self.sums.is_current(cluster) {
            return Refresh::Again;
        }
        let mut moved = false;
        for change in changes.iter() {
            match change {
                Change::PodPut(slot, pod) => moved |= self.add(cluster, *slot, pod, 1),
                Change::PodTaken(slot, pod) => moved |= self.add(cluster, *slot, pod, -1),
                Change::Node(..) | Change::Object(_) => {}
            }
        }
        if moved { Refresh::All } else { Refresh::Nodes }
    }

    fn is_skipped(&self) -> bool {
        self.contributions == 0
    }

    #[allow(clippy::cast_precision_loss)] // sums of 32-bit weights over fewer than 2²¹ pods
    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        self.sums.total(cluster, node.slot) as f64
    }

    #[allow(clippy::cast_precision_loss)]
    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        let columns = self.sums.columns(cluster);
        for (index, cell) in raw.iter_mut().enumerate() {
            *cell = columns.iter().filter_map(|column| column.at(index)).sum::<i64>() as f64;
        }
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Range
    }

    fn held_bytes(&self) -> HeldBytes {
        let tables = self.sums.heap_bytes() + self.namespace_labels.heap_bytes();
        HeldBytes::Changing(size_of_val(self) + tables)
    }
}
