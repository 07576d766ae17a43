//! Looks at nodes one after the other until enough of them are feasible, if the policy asks for it.
//!
//! Specification: kube-scheduler's with `parallelism: 1`. Nodes are in the order of their zones; each
//! search starts where the last one ended, and ends at the first feasible node that is too many. Where
//! rules narrow the nodes down, only those that are left count, in the order of their names.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::judging::NodeRejection;
use crate::program::Profile;
use crate::snapshot::NodeSlot;

const NODES_MIN: usize = 100;
const PERCENTAGE_MIN: usize = 5;
/// Of nodes to score: all of them.
const ALL: i64 = 100;

/// So many searches are remembered for pods about which extenders are asked. The live loop asks about
/// eight pods at a time.
const ASKED_MAX: usize = 64;

/// Where the next search starts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampling {
    next_start: usize,
    asked: VecDeque<ExtendedSearch>,
}

/// The search for a pod about which extenders are asked.
#[derive(Debug, Clone)]
struct ExtendedSearch {
    uid: Arc<str>,
    start: usize,
    /// How far the next start moves if extenders refuse the node that the pod is nominated to: without
    /// the nomination it would have moved at once.
    moves_later: usize,
}

/// What a search came to.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// In the order in which they were found.
    pub(super) feasible: Vec<NodeSlot>,
    pub(super) rejected: Vec<NodeRejection>,
    /// A node that could not be judged, which ends the search.
    pub(super) failure: Option<NodeRejection>,
    /// How far the next start moves.
    pub(super) looked_at: usize,
}

/// Whether a profile has only some nodes scored.
pub(super) fn is_asked_for(profile: &Profile) -> bool {
    profile.percentage_of_nodes_to_score < ALL
}

/// How many feasible nodes are enough. Without any score, one is.
pub(super) fn enough(profile: &Profile, nodes: usize, has_extenders: bool) -> usize {
    if profile.scores.is_empty() && !has_extenders {
        return 1;
    }
    enough_of(profile.percentage_of_nodes_to_score, nodes)
}

fn enough_of(percentage: i64, nodes: usize) -> usize {
    if nodes < NODES_MIN {
        return nodes;
    }
    let share = match usize::try_from(percentage) {
        Ok(percentage) if percentage > 0 => percentage,
        _ => PERCENTAGE_MIN.max(50_usize.saturating_sub(nodes / 125)),
    };
    (nodes * share / 100).max(NODES_MIN)
}

impl Sampling {
    pub(super) fn next_start(&self) -> usize {
        self.next_start
    }

    pub(super) fn move_on(&mut self, looked_at: usize, nodes_total: usize) {
        self.next_start = (self.next_start + looked_at).checked_rem(nodes_total).unwrap_or(0);
    }

    /// Remembers the search for a pod about which extenders are now asked.
    pub(super) fn ask(&mut self, uid: &Arc<str>, start: usize, moves_later: usize) {
        self.asked.retain(|asked| asked.uid != *uid);
        if self.asked.len() >= ASKED_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(ExtendedSearch { uid: Arc::clone(uid), start, moves_later });
    }

    /// Where the search for a pod started about which extenders were asked.
    pub(super) fn asked_from(&self, uid: &str) -> usize {
        let asked = self.asked.iter().find(|asked| *asked.uid == *uid);
        asked.map_or(self.next_start, |asked| asked.start)
    }

    /// Extenders did not keep the node that a pod is nominated to. `refusals`: 1 where they said so.
    pub(super) fn nominated_was_not_kept(
        &mut self,
        uid: &str,
        refusals: usize,
        nodes_total: usize,
    ) {
        let asked = self.asked.iter_mut().find(|asked| *asked.uid == *uid);
        let later = asked.map_or(0, |asked| std::mem::take(&mut asked.moves_later));
        if later > 0 {
            self.move_on(later + refusals, nodes_total);
        }
    }
}

/// These nodes in the order in which they are looked at.
pub(super) fn turned(nodes: &[NodeSlot], start: usize) -> impl Iterator<Item = NodeSlot> + '_ {
    let start = start.checked_rem(nodes.len()).unwrap_or(0);
    let (before, from) = nodes.split_at(start);
    from.iter().chain(before).copied()
}

/// Searches these nodes. `attempted` is a node that was judged before, and rejected: it counts as one
/// that was looked at.
pub(super) fn search(
    nodes: &[NodeSlot],
    start: usize,
    enough: usize,
    attempted: Option<NodeSlot>,
    mut judge: impl FnMut(NodeSlot) -> Option<NodeRejection>,
) -> Sample {
    let mut sample = Sample::default();
    for slot in turned(nodes, start) {
        match judge(slot) {
            None if sample.feasible.len() == enough => break,
            None => sample.feasible.push(slot),
            Some(failure) if failure.code.is_failure() => {
                sample.failure = Some(failure);
                break;
            }
            Some(rejection) => sample.rejected.push(rejection),
        }
    }
    let is_met = |slot: NodeSlot| sample.rejected.iter().any(|node| node.slot == slot);
    let besides = usize::from(attempted.is_some_and(|slot| !is_met(slot)));
    sample.looked_at = sample.feasible.len() + sample.rejected.len() + besides;
    sample
}

#[cfg(test)]
mod tests {
    use super::enough_of;

    #[test]
    fn worked_numbers_of_kube_scheduler() {
        assert_eq!(enough_of(0, 1000), 420);
        assert_eq!(enough_of(0, 5000), 500);
        assert_eq!(enough_of(0, 6250), 312);
        assert_eq!(enough_of(0, 100), 100);
        assert_eq!(enough_of(0, 99), 99);
        assert_eq!(enough_of(1, 5000), 100);
    }
}
