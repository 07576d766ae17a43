//! The score: preferences of the pod for pods on nodes, and of pods on nodes for the pod.

use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{Kind, Labels, PodAffinityTerm};
use crate::release::NamespaceSelectors;
use crate::rules::{HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score};
use crate::snapshot::census::{Demand, Row};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::pod::{Identity, PodAffinity};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeSlot, NodeView, Pod};

use super::InterPodAffinity;
use super::counts::TopologySums;
use super::others::{Worth, terms_against};
use super::terms::{Incoming, has_labels, means_incoming, means_namespace};

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
type ByKey = Vec<(Box<str>, i64)>;

impl Score for InterPodAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push_seen(pod);
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

    fn kinds(&self) -> &[Kind] {
        &[Kind::Namespace]
    }
}

impl PreparedAffinityScore {
    fn count_all(&mut self, cluster: &Cluster) {
        let (identity, affinity) = (self.identity.clone(), self.affinity.clone());
        let selectors = self.rule.selectors;
        if !self.affinity.preferred.is_empty() || !self.affinity.anti_preferred.is_empty() {
            for (namespace, rows) in cluster.census().by_namespace() {
                let preferences =
                    preferences_in(namespace, &affinity, &identity, cluster, selectors);
                for (weight, term) in preferences {
                    self.count_meant(weight, term, rows, cluster);
                }
            }
        }
        let incoming = Incoming { identity: &identity, namespace_labels: &self.namespace_labels };
        let hard = self.rule.hard_weight;
        let worth_of = |demand: Demand| {
            let required = if hard > 0 { demand.required } else { 0 };
            Worth {
                terms: demand.preferences.saturating_add(required),
                weight: demand.weight.saturating_add(required.saturating_mul(hard)),
            }
        };
        for of_key in terms_against(incoming, cluster, worth_of) {
            let with_key = |slot: NodeSlot| of_key.domains.id(slot) != ABSENT;
            let met = of_key.by_node(cluster, worth_of).filter(|(slot, _)| with_key(*slot));
            self.contributions += met.map(|(_, worth)| worth.terms).sum::<i64>();
            let weights =
                of_key.by_node(cluster, worth_of).map(|(slot, worth)| (slot, worth.weight));
            self.sums.add_all(of_key.key, &of_key.domains, weights);
        }
    }

    /// Counts the pods among these that one of the pod's own preferences means.
    fn count_meant(
        &mut self,
        weight: i64,
        term: &PodAffinityTerm,
        rows: &[Row<Shared<Identity>>],
        cluster: &Cluster,
    ) {
        let key = &term.topology_key;
        if !cluster.nodes().any_has_label(key) {
            return;
        }
        let domains = cluster.nodes().domains(key);
        for row in rows.iter().filter(|row| has_labels(term, &row.what.labels)) {
            let pods = row.by_node.iter().map(|(slot, tally)| (*slot, i64::from(tally.pods)));
            let with_key = pods.clone().filter(|(slot, _)| domains.id(*slot) != ABSENT);
            self.contributions += with_key.map(|(_, pods)| pods).sum::<i64>();
            let weights = pods.map(|(slot, pods)| (slot, weight.saturating_mul(pods)));
            self.sums.add_all(key, &domains, weights);
        }
    }

    /// By the pod's own preferences.
    fn worth_to_us(&self, existing: &Identity, cluster: &Cluster) -> ByKey {
        let namespace = &existing.namespace;
        let (affinity, selectors) = (&self.affinity, self.rule.selectors);
        let preferences = preferences_in(namespace, affinity, &self.identity, cluster, selectors);
        worth_among(&preferences, existing)
    }

    /// By what a pod on a node requires and prefers.
    fn worth_to_them(&self, affinity: &PodAffinity, namespace: &str) -> ByKey {
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

    fn add_worth(&mut self, cluster: &Cluster, slot: NodeSlot, worth: &ByKey, pods: i64) {
        for (key, weight) in worth {
            if cluster.nodes().any_has_label(key) && cluster.nodes().domains(key).id(slot) != ABSENT
            {
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

/// A pod's own preferences that may mean pods of a namespace, each with its weight.
fn preferences_in<'p>(
    namespace: &str,
    affinity: &'p PodAffinity,
    owner: &Identity,
    cluster: &Cluster,
    selectors: NamespaceSelectors,
) -> Vec<(i64, &'p PodAffinityTerm)> {
    let PodAffinity { preferred, anti_preferred, .. } = affinity;
    let liked = preferred.iter().map(|(weight, term)| (i64::from(*weight), term));
    let avoided = anti_preferred.iter().map(|(weight, term)| (-i64::from(*weight), term));
    liked
        .chain(avoided)
        .filter(|(_, term)| means_namespace(term, &owner.namespace, namespace, cluster, selectors))
        .collect()
}

/// What a pod on a node is worth by preferences that may mean pods of its namespace.
fn worth_among(preferences: &[(i64, &PodAffinityTerm)], existing: &Identity) -> ByKey {
    let meant = preferences.iter().filter(|(_, term)| has_labels(term, &existing.labels));
    meant.map(|(weight, term)| (term.topology_key.clone(), *weight)).collect()
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
            Change::PodPut(..) | Change::PodTaken(..) | Change::Time(..) => false,
        });
        if is_stale || !self.sums.is_current(cluster) {
            return Refresh::Again;
        }
        let mut moved = false;
        for change in changes.iter() {
            match change {
                Change::PodPut(slot, pod) => moved |= self.add(cluster, *slot, pod, 1),
                Change::PodTaken(slot, pod) => moved |= self.add(cluster, *slot, pod, -1),
                Change::Node(..) | Change::Object(_) | Change::Time(..) => {}
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
        raw.fill(0.0);
        for column in self.sums.columns(cluster) {
            for (cell, pods) in raw.iter_mut().zip(column.each()) {
                *cell += pods as f64;
            }
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
