//! Chooses a candidate.
//!
//! Specification, each among those that are best by the ones before it, unless the policy has
//! another order: fewest victims beyond a budget; the lowest priority of the first victim, which is
//! the most important one unless an extender has another order; the smallest sum of priorities,
//! each raised so that none is negative; fewest victims; the latest start of the one of highest
//! priority that has run longest. What is left ties.

use std::sync::Arc;

use crate::judging::Tie;
use crate::program::{CRITERIA, Criterion};
use crate::snapshot::{Cluster, NodeSlot, Pod};

use super::victims::started;
use super::{Candidate, Unplaced};

/// Makes the lowest priority 0.
const PRIORITY_OFFSET: i64 = 1 << 31;

type Rank = [i64; CRITERIA.len()];

/// The position of the candidate to take; `None` where there is none.
pub(super) fn pick(candidates: &[Arc<Candidate>], unplaced: Unplaced<'_>) -> Option<usize> {
    best(candidates, unplaced.order(), unplaced.question.tie, unplaced.cluster)
}

fn best(
    candidates: &[Arc<Candidate>],
    order: &[Criterion],
    tie: Tie,
    cluster: &Cluster,
) -> Option<usize> {
    let ranks: Vec<Rank> = candidates.iter().map(|candidate| rank(candidate, order)).collect();
    let best = ranks.iter().min()?;
    let tied: Vec<(NodeSlot, usize)> = ranks
        .iter()
        .zip(candidates)
        .enumerate()
        .filter(|(_, (rank, _))| *rank == best)
        .map(|(position, (_, candidate))| (candidate.slot, position))
        .collect();
    let [(_, only)] = tied.as_slice() else {
        let all_tied = || tied.iter().map(|(slot, _)| *slot).collect();
        let is_tied = |slot| tied.iter().any(|(have, _)| *have == slot);
        let slot = tie.break_among(cluster.nodes(), is_tied, all_tied)?;
        return tied.iter().find(|(have, _)| *have == slot).map(|(_, position)| *position);
    };
    Some(*only)
}

/// Smaller is better, from the first on.
fn rank(candidate: &Candidate, order: &[Criterion]) -> Rank {
    let mut rank = Rank::default();
    for (place, criterion) in rank.iter_mut().zip(order) {
        *place = candidate.measures.by(*criterion);
    }
    rank
}

/// What each criterion says of a candidate; smaller is better.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measures {
    violations: i64,
    max_priority: i64,
    priority_sum: i64,
    victims: i64,
    latest_start: i64,
}

impl Measures {
    pub(super) fn of(victims: &[Arc<Pod>], violations: usize) -> Self {
        let count = |pods: usize| i64::try_from(pods).unwrap_or(i64::MAX);
        let highest = victims.iter().map(|victim| victim.priority()).max();
        let of_highest = victims.iter().filter(|victim| Some(victim.priority()) == highest);
        Self {
            violations: count(violations),
            max_priority: victims.first().map_or(i64::MIN, |victim| i64::from(victim.priority())),
            priority_sum: victims
                .iter()
                .map(|victim| i64::from(victim.priority()) + PRIORITY_OFFSET)
                .sum(),
            victims: count(victims.len()),
            // The complement turns the order around, also where nothing has started.
            latest_start: !of_highest.map(|victim| started(victim)).min().unwrap_or(i64::MAX),
        }
    }

    const fn by(self, criterion: Criterion) -> i64 {
        match criterion {
            Criterion::FewestPdbViolations => self.violations,
            Criterion::LowestMaxPriority => self.max_priority,
            Criterion::SmallestPrioritySum => self.priority_sum,
            Criterion::FewestVictims => self.victims,
            Criterion::LatestStart => self.latest_start,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Candidate, best};
    use crate::judging::Tie;
    use crate::model::{self, Meta, Node};
    use crate::program::{CRITERIA, Criterion, TieBreak};
    use crate::snapshot::Cluster;

    /// Priorities and start times of victims, most important first, and how many violate.
    type Case<'a> = (usize, &'a [(i32, Option<i64>)]);

    fn picked(cases: &[Case<'_>], rule: TieBreak, seed: u64) -> Option<usize> {
        picked_by(&CRITERIA, cases, rule, seed)
    }

    fn picked_by(
        order: &[Criterion],
        cases: &[Case<'_>],
        rule: TieBreak,
        seed: u64,
    ) -> Option<usize> {
        let mut cluster = Cluster::default();
        let mut candidates = Vec::new();
        for (index, (violations, victims)) in cases.iter().enumerate() {
            let name = format!("n{index}");
            let meta = Meta { name: name.as_str().into(), ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
            let victims = victims.iter().map(|(priority, start_seconds)| {
                let (priority, start_seconds) = (*priority, *start_seconds);
                cluster.row(model::Pod { priority, start_seconds, ..model::Pod::default() })
            });
            let victims = victims.collect();
            let slot = cluster.nodes().find(&name)?;
            candidates.push(Arc::new(Candidate::new(slot, victims, *violations)));
        }
        cluster.settle_order();
        best(&candidates, order, Tie { rule, seed, decision: 1, preferred: None }, &cluster)
    }

    #[test]
    fn each_criterion_counts_where_those_before_tie() {
        let old = Some(1);
        let cases: [[Case<'_>; 2]; 6] = [
            [(1, &[(0, old)]), (0, &[(9, old), (9, old)])],
            [(0, &[(9, old)]), (0, &[(8, old), (8, old), (8, old)])],
            [(0, &[(9, old), (5, old)]), (0, &[(9, old), (4, old)])],
            // A lone victim of low priority weighs less than two, however low theirs is.
            [(0, &[(-1, old), (-1, old)]), (0, &[(-1, old)])],
            [(0, &[(9, Some(5)), (1, Some(9))]), (0, &[(9, Some(6)), (1, Some(2))])],
            [(0, &[(9, Some(5))]), (0, &[(9, None)])],
        ];
        for case in cases {
            assert_eq!(picked(&case, TieBreak::Random, 7), Some(1), "{case:?}");
            let [first, second] = case;
            assert_eq!(picked(&[second, first], TieBreak::Random, 7), Some(0), "{case:?}");
        }
    }

    #[test]
    fn the_longest_running_of_the_highest_priority_counts() {
        let cases: [Case<'_>; 2] =
            [(0, &[(9, Some(3)), (9, Some(8))]), (0, &[(9, Some(4)), (9, Some(5))])];
        assert_eq!(picked(&cases, TieBreak::Random, 7), Some(1));
    }

    #[test]
    fn what_ties_is_drawn_or_goes_by_the_policy() {
        let tied: Case<'_> = (0, &[(1, Some(1))]);
        let worse: Case<'_> = (0, &[(2, Some(1))]);
        let cases = [worse, tied, tied];
        assert_eq!(picked(&cases, TieBreak::Name, 7), Some(1));
        let drawn: Vec<Option<usize>> =
            (0..40).map(|seed| picked(&cases, TieBreak::Random, seed)).collect();
        assert!(drawn.contains(&Some(1)) && drawn.contains(&Some(2)));
        assert!(!drawn.contains(&Some(0)) && !drawn.contains(&None));
        assert_eq!(picked(&[], TieBreak::Random, 7), None);
    }

    #[test]
    fn a_policy_has_its_own_order_and_what_it_leaves_out_does_not_count() {
        let two_of_none: Case<'_> = (0, &[(0, Some(1)), (0, Some(1))]);
        let one_of_nine: Case<'_> = (0, &[(9, Some(1))]);
        let cases = [two_of_none, one_of_nine];
        assert_eq!(picked(&cases, TieBreak::Name, 7), Some(0));
        let order = [Criterion::FewestVictims, Criterion::LowestMaxPriority];
        assert_eq!(picked_by(&order, &cases, TieBreak::Name, 7), Some(1));
        let violating: Case<'_> = (1, &[(9, Some(1))]);
        let cases = [violating, one_of_nine];
        assert_eq!(picked_by(&order, &cases, TieBreak::Name, 7), Some(0));
    }
}
