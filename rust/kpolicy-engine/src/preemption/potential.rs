//! The nodes where evicting pods may help.
//!
//! Specification: exactly those whose status is `Unschedulable`. A node that was not judged has the
//! status by which the pod was rejected as a whole, or otherwise `UnschedulableAndUnresolvable`.

use rustc_hash::FxHashMap;

use crate::judging::NodeRejection;
use crate::rules::{Code, PreparedFilter, Rejection};
use crate::snapshot::NodeSlot;

use super::Unplaced;

/// In order of names.
pub(super) fn nodes(unplaced: Unplaced<'_>) -> Vec<NodeSlot> {
    let ranked = unplaced.cluster.nodes().by_rank();
    if let Some((_, status)) = unplaced.rejected.pre_filter.as_deref() {
        let any = status.rejection == Rejection::Unschedulable;
        return if any { ranked.to_vec() } else { Vec::new() };
    }
    let mut is_potential = vec![false; unplaced.cluster.nodes().slots()];
    let mut known: FxHashMap<(usize, Code), Rejection> = FxHashMap::default();
    for nodes in unplaced.rejected.nodes.chunk_by(NodeRejection::is_alike) {
        let Some(first) = nodes.first() else { continue };
        let of_all = rejects_by_code(unplaced, first).then(|| {
            let known = known.entry((first.filter, first.code));
            *known.or_insert_with(|| rejection_of(unplaced, first))
        });
        for node in nodes {
            let rejection = of_all.unwrap_or_else(|| rejection_of(unplaced, node));
            if let Some(cell) = is_potential.get_mut(node.slot.index()) {
                *cell = rejection == Rejection::Unschedulable;
            }
        }
    }
    let is_potential = |slot: &NodeSlot| is_potential.get(slot.index()) == Some(&true);
    ranked.iter().copied().filter(is_potential).collect()
}

/// How one node was rejected.
pub(super) fn rejection(unplaced: Unplaced<'_>, slot: NodeSlot) -> Rejection {
    if let Some((_, status)) = unplaced.rejected.pre_filter.as_deref() {
        return status.rejection;
    }
    let node = unplaced.rejected.nodes.iter().find(|node| node.slot == slot);
    node.map_or(Rejection::Unresolvable, |node| rejection_of(unplaced, node))
}

fn rejection_of(unplaced: Unplaced<'_>, node: &NodeRejection) -> Rejection {
    let status = node.full_status(unplaced.prepared, unplaced.cluster);
    status.map_or(Rejection::Unresolvable, |status| status.rejection)
}

/// Whether another node with the same code is rejected in the same way.
fn rejects_by_code(unplaced: Unplaced<'_>, node: &NodeRejection) -> bool {
    let filter = unplaced.prepared.get(node.filter).copied().flatten();
    node.status.is_none() && filter.is_some_and(PreparedFilter::rejects_by_code)
}
