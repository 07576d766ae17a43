//! Which nodes take part in which constraints.
//!
//! [`Standings`] says for each node whether its pods count and its domains exist. Specification: a
//! node that lacks the key of any constraint takes part in none; `nodeAffinityPolicy` leaves out
//! nodes that the pod's node selector and required affinity do not select; `nodeTaintsPolicy` those
//! with a hard taint that it does not tolerate. Holds until labels, taints or nodes change.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::heap::{HeapBytes, arc_bytes};
use crate::rules::label_lanes;
use crate::rules::tolerations::first_untolerated_hard;
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Change, Changes, Cluster, Domains, NodeParts, NodeSlot, Pod};

use super::constraints::Constraint;

const HAS_KEYS: u8 = 1;
const IS_SELECTED: u8 = 1 << 1;
const IS_TOLERATED: u8 = 1 << 2;

/// By slot.
#[derive(Debug, Clone)]
pub(super) struct Standings {
    by_slot: Arc<[u8]>,
    all_have_keys: bool,
    reads_taints: bool,
}

impl Standings {
    /// `needs_keys`: a node that lacks a key takes part in nothing.
    pub(super) fn of(
        pod: &Pod,
        constraints: &[Constraint],
        columns: &[Arc<Domains>],
        needs_keys: bool,
        cluster: &Cluster,
    ) -> Self {
        let reads_affinity = constraints.iter().any(|one| one.honors_affinity);
        let reads_taints = constraints.iter().any(|one| one.honors_taints);
        let (affinity, tolerations) = (&pod.template.node_affinity, &pod.template.tolerations);
        let selected = reads_affinity.then(|| label_lanes::required(affinity, cluster));
        let mut tolerated: FxHashMap<u64, bool> = FxHashMap::default();
        let mut by_slot = vec![0_u8; cluster.nodes().slots()];
        let mut all_have_keys = true;
        for view in cluster.nodes().iter() {
            let node = view.node;
            let lacks_key = |domains: &Arc<Domains>| domains.id(view.slot) == ABSENT;
            let has_keys = !needs_keys || !columns.iter().any(lacks_key);
            let is_selected = selected
                .as_ref()
                .is_none_or(|lanes| lanes.get(view.slot.index()).copied().unwrap_or(false));
            let is_tolerated = !reads_taints
                || node.taints.is_empty()
                || *tolerated
                    .entry(node.taints.id())
                    .or_insert_with(|| first_untolerated_hard(&node.taints, tolerations).is_none());
            all_have_keys &= has_keys;
            if let Some(cell) = by_slot.get_mut(view.slot.index()) {
                *cell = if has_keys { HAS_KEYS } else { 0 }
                    | if is_selected { IS_SELECTED } else { 0 }
                    | if is_tolerated { IS_TOLERATED } else { 0 };
            }
        }
        Self { by_slot: by_slot.into(), all_have_keys, reads_taints }
    }

    /// Whether a change of nodes may make them wrong.
    pub(super) fn are_current(&self, changes: Changes<'_>) -> bool {
        let read = NodeParts::LABELS.with(NodeParts::EXISTENCE);
        let read = if self.reads_taints { read.with(NodeParts::TAINTS) } else { read };
        let is_read =
            |change: &Change| matches!(change, Change::Node(_, parts) if parts.meets(read));
        !changes.iter().any(is_read)
    }

    pub(super) fn all_have_keys(&self) -> bool {
        self.all_have_keys
    }

    pub(super) fn has_keys(&self, index: usize) -> bool {
        self.at(index) & HAS_KEYS != 0
    }

    /// Whether a node takes part in a constraint.
    pub(super) fn takes_part(&self, slot: NodeSlot, constraint: &Constraint) -> bool {
        let standing = self.at(slot.index());
        standing & HAS_KEYS != 0
            && (!constraint.honors_affinity || standing & IS_SELECTED != 0)
            && (!constraint.honors_taints || standing & IS_TOLERATED != 0)
    }

    fn at(&self, index: usize) -> u8 {
        self.by_slot.get(index).copied().unwrap_or(0)
    }
}

impl HeapBytes for Standings {
    fn heap_bytes(&self) -> usize {
        arc_bytes(&self.by_slot)
    }
}
