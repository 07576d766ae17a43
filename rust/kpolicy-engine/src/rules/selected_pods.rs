//! Counts, for each node, the pods of one namespace that a selector selects; and the share of a
//! score that rules of old releases compute from it.
//!
//! Specification: terminating pods do not count; an empty selector counts no pod. Slots hold until
//! nodes are added or removed.

use crate::heap::{HeapBytes, flat_bytes};
use crate::intern::Name;
use crate::model::Selector;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, Pod};

const SCORE_MAX: f64 = 100.0;

#[derive(Debug, Clone)]
pub(crate) struct SelectedPods {
    namespace: Name,
    selector: Selector,
    /// Whole numbers.
    by_slot: Vec<f64>,
}

impl SelectedPods {
    pub(crate) fn of(namespace: &Name, selector: Selector, cluster: &Cluster) -> Self {
        let mut by_slot = vec![0.0; cluster.nodes().slots()];
        let rows = cluster
            .census()
            .identities_in(namespace)
            .iter()
            .filter(|row| !selector.is_everything() && selector.matches(&row.what.labels));
        for (slot, tally) in rows.flat_map(|row| &row.by_node) {
            if let Some(cell) = by_slot.get_mut(slot.index()) {
                *cell += f64::from(tally.pods - tally.terminating);
            }
        }
        Self { namespace: namespace.clone(), selector, by_slot }
    }

    pub(crate) fn selector(&self) -> &Selector {
        &self.selector
    }

    pub(crate) fn by_slot(&self) -> &[f64] {
        &self.by_slot
    }

    pub(crate) fn at(&self, index: usize) -> f64 {
        self.by_slot.get(index).copied().unwrap_or(0.0)
    }

    /// Follows pods that came and left.
    pub(crate) fn follow(&mut self, changes: Changes<'_>) {
        for change in changes.iter() {
            let (slot, pods) = match change {
                Change::PodPut(slot, pod) if self.counts(pod) => (slot, 1.0),
                Change::PodTaken(slot, pod) if self.counts(pod) => (slot, -1.0),
                _ => continue,
            };
            if let Some(cell) = self.by_slot.get_mut(slot.index()) {
                *cell += pods;
            }
        }
    }

    fn counts(&self, pod: &Pod) -> bool {
        !pod.is_terminating
            && *pod.namespace() == self.namespace
            && !self.selector.is_everything()
            && self.selector.matches(pod.labels())
    }
}

/// Whether nodes came, went or changed labels.
pub(crate) fn moves_nodes(changes: Changes<'_>) -> bool {
    let read = NodeParts::LABELS.with(NodeParts::EXISTENCE);
    changes.iter().any(|change| matches!(change, Change::Node(_, parts) if parts.meets(read)))
}

/// 100 for no pods, 0 for the most; 100 where there are none.
pub(crate) fn share_left(pods: f64, most: f64) -> f64 {
    if most > 0.0 { SCORE_MAX * ((most - pods) / most) } else { SCORE_MAX }
}

impl HeapBytes for SelectedPods {
    fn heap_bytes(&self) -> usize {
        self.selector.heap_bytes() + flat_bytes(&self.by_slot)
    }
}
