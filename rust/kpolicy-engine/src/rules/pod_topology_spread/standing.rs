//! Which nodes take part in which constraints.
//!
//! [`Standings`] says for each node whether its pods count and its domains exist. Specification: a
//! node that lacks the key of any constraint takes part in none; `nodeAffinityPolicy` leaves out
//! nodes that the pod's node selector and required affinity do not select; `nodeTaintsPolicy` those
//! with a hard taint that it does not tolerate. Holds until labels, taints or nodes change.

use std::sync::Arc;

use crate::heap::{HeapBytes, arc_bytes};
use crate::rules::label_lanes;
use crate::rules::tolerations::{Operators, first_untolerated_hard};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Change, Changes, Cluster, Domains, NodeParts, NodeSlot, Pod};

use super::constraints::Constraint;

const HAS_KEYS: u8 = 1;
const IS_SELECTED: u8 = 1 << 1;
const IS_TOLERATED: u8 = 1 << 2;
const ALL: u8 = HAS_KEYS | IS_SELECTED | IS_TOLERATED;

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
        (pod, operators): (&Pod, Operators),
        constraints: &[Constraint],
        columns: &[Arc<Domains>],
        needs_keys: bool,
        cluster: &Cluster,
    ) -> Self {
        let reads_affinity = constraints.iter().any(|one| one.honors_affinity);
        let reads_taints = constraints.iter().any(|one| one.honors_taints);
        let (affinity, tolerations) = (&pod.template.node_affinity, &pod.template.tolerations);
        let live = &cluster.nodes().columns().live;
        let mut by_slot: Vec<u8> =
            live.iter().map(|is_live| if *is_live { ALL } else { 0 }).collect();
        for domains in columns.iter().filter(|_| needs_keys) {
            let has_key = domains.ids().iter().map(|id| *id != ABSENT);
            keep(&mut by_slot, HAS_KEYS, has_key);
        }
        let all_have_keys = by_slot.iter().all(|standing| *standing != ALL ^ HAS_KEYS);
        if reads_affinity && (affinity.selector.is_some() || affinity.required.is_some()) {
            keep(&mut by_slot, IS_SELECTED, label_lanes::required(affinity, cluster));
        }
        if reads_taints {
            let mut tolerated = vec![true; by_slot.len()];
            cluster.nodes().taint_sets().write(&mut tolerated, |taints| {
                first_untolerated_hard(taints, tolerations, operators).is_none()
            });
            keep(&mut by_slot, IS_TOLERATED, tolerated);
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
        takes_part(self.at(slot.index()), constraint)
    }

    /// The domains of the nodes that take part in a constraint, with repetitions.
    pub(super) fn taking_part(
        &self,
        constraint: &Constraint,
        domains: &Domains,
    ) -> impl Iterator<Item = u32> {
        let standings = self.by_slot.iter().zip(domains.ids());
        standings.filter_map(|(standing, id)| takes_part(*standing, constraint).then_some(*id))
    }

    fn at(&self, index: usize) -> u8 {
        self.by_slot.get(index).copied().unwrap_or(0)
    }
}

/// Whether a node with this standing takes part in a constraint.
fn takes_part(standing: u8, constraint: &Constraint) -> bool {
    standing & HAS_KEYS != 0
        && (!constraint.honors_affinity || standing & IS_SELECTED != 0)
        && (!constraint.honors_taints || standing & IS_TOLERATED != 0)
}

/// Removes a part of the standing of the nodes for which it does not hold.
fn keep(by_slot: &mut [u8], part: u8, holds: impl IntoIterator<Item = bool>) {
    for (standing, holds) in by_slot.iter_mut().zip(holds) {
        *standing &= if holds { ALL } else { !part };
    }
}

impl HeapBytes for Standings {
    fn heap_bytes(&self) -> usize {
        arc_bytes(&self.by_slot)
    }
}
