//! Looks at nodes one after the other until enough of them are feasible, if the policy asks for it.
//!
//! Specification: kube-scheduler's with `parallelism: 1`. Nodes are in the order of their zones; each
//! search starts where the last one ended, and ends at the first feasible node that is too many. Where
//! rules narrow the nodes down, only those that are left count, in the order of their names.

use crate::judging::NodeRejection;
use crate::program::Profile;
use crate::snapshot::NodeSlot;

const NODES_MIN: usize = 100;
const PERCENTAGE_MIN: usize = 5;
/// Of nodes to score: all of them.
const ALL: i64 = 100;

/// Where the next search starts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampling {
    next_start: usize,
}

/// What a search came to.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// In the order in which they were found.
    pub(super) feasible: Vec<NodeSlot>,
    pub(super) rejected: Vec<NodeRejection>,
    /// A node that could not be judged, which ends the search.
    pub(super) failure: Option<NodeRejection>,
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
    /// These nodes in the order in which they are looked at.
    pub(super) fn turned<'a>(&self, nodes: &'a [NodeSlot]) -> impl Iterator<Item = NodeSlot> + 'a {
        let start = self.next_start.checked_rem(nodes.len()).unwrap_or(0);
        let (before, from) = nodes.split_at(start);
        from.iter().chain(before).copied()
    }

    /// Searches these nodes. `attempted` is a node that was judged before, and rejected: it counts as one
    /// that was looked at.
    pub(super) fn search(
        &mut self,
        nodes: &[NodeSlot],
        enough: usize,
        attempted: Option<NodeSlot>,
        nodes_total: usize,
        mut judge: impl FnMut(NodeSlot) -> Option<NodeRejection>,
    ) -> Sample {
        let mut sample = Sample::default();
        for slot in self.turned(nodes) {
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
        let looked_at = sample.feasible.len() + sample.rejected.len() + besides;
        self.next_start = (self.next_start + looked_at).checked_rem(nodes_total).unwrap_or(0);
        sample
    }
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
