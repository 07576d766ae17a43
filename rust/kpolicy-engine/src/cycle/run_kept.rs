//! The end of a decision about which extenders were asked: the choice among the nodes that they kept.

use crate::judging::Rejected;
use crate::snapshot::NodeSlot;
use crate::timing::Meter;

use super::Extended;
use super::run::{Found, Run};
use super::sampling;

impl<M: Meter> Run<'_, M> {
    /// Chooses among the nodes that extenders kept, with what they add to the totals.
    /// kube-scheduler takes the nominated node if they kept it. `None`: no such node passes any
    /// more.
    pub(super) fn choose_kept(&mut self, extended: &Extended) -> Option<Found> {
        let left = match self.left() {
            Ok(left) => left,
            Err(outcome) => return Some(outcome),
        };
        if sampling::is_asked_for(self.profile) {
            return self.choose_kept_of_some(left, extended);
        }
        let passing = match self.passing(left) {
            Ok(passing) => passing,
            Err(failed) => return Some(failed),
        };
        let (feasible, rejected) = self.listed(passing);
        let is_kept = |slot: &&NodeSlot| extended.kept.contains_key(slot);
        let kept: Vec<NodeSlot> = feasible.iter().filter(is_kept).copied().collect();
        if !kept.is_empty() {
            return Some(self.choose_extended(kept, extended));
        }
        none_kept(&feasible, self.nominated_node().rejected_with(rejected), extended)
    }

    /// Takes the nominated node if it is among these, and otherwise the best one.
    pub(super) fn choose_extended(
        &mut self,
        mut kept: Vec<NodeSlot>,
        extended: &Extended,
    ) -> Found {
        let own = self.cluster.nominations().node_of(&self.question.pod.uid);
        if let Some(own) = own.and_then(|name| self.cluster.nodes().find(name))
            && kept.contains(&own)
        {
            kept = vec![own];
        }
        let added: Vec<i64> =
            kept.iter().map(|slot| extended.kept.get(slot).copied().unwrap_or(0)).collect();
        self.choose_among(&kept, &added)
    }
}

/// Where extenders kept no node that passes. `None`: something changed since they were asked.
pub(super) fn none_kept(
    feasible: &[NodeSlot],
    mut rejected: Rejected,
    extended: &Extended,
) -> Option<Found> {
    if extended.is_stale && !feasible.is_empty() {
        return None;
    }
    rejected.is_by_extenders = !feasible.is_empty();
    let refused = extended.refused.iter();
    rejected.nodes.extend(refused.filter(|node| feasible.contains(&node.slot)).cloned());
    Some(Found::Rejected(rejected))
}
