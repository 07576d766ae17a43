//! Preemption: making room for a pod by evicting pods of lower priority (`DefaultPreemption`).
//!
//! Finds the victims on each node, chooses the node, and says why there is none. These are pure
//! functions of the snapshot: nothing is evicted here. The pod was rejected just now, with the
//! prepared filters that are passed in.
//!
//! Specification: a pod must have strictly lower priority to be a victim; a node is of interest if
//! its rejection is plain `Unschedulable`; as many pods as possible are kept, the important ones
//! first and those under a disruption budget before the others.

mod budgets;
mod dry_run;
mod eligibility;
mod pick;
mod potential;
mod search_work;
mod stretch;
mod trimmed;
mod victims;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kpolicy_cel::{Budget, Fault};

use crate::heap::{HeapBytes, arc_bytes};
use crate::judging::{ByNode, PreparedFilters, Question, Rejected};
use crate::message::{self, Histogram};
use crate::program::{CRITERIA, Criterion, Enough, Profile};
use crate::snapshot::{Cluster, NodeSlot, NodeView, Pod};

use dry_run::DryRuns;
use pick::Measures;
use stretch::{STRETCH_MAX, Tried, tried};
use victims::Evictable;

pub(crate) use dry_run::Unhelpful;
pub(crate) use eligibility::NotEligible;
pub(crate) use search_work::PodPrices;
pub(crate) use trimmed::{Trimmed, among};

const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
const NO_CANDIDATE: &str = "no candidate node for preemption";

/// For whom room is to be made, and why there is none.
#[derive(Debug, Clone, Copy)]
pub struct Unplaced<'a> {
    pub(crate) question: Question<'a>,
    pub(crate) profile: &'a Profile,
    pub(crate) rejected: &'a Rejected,
    pub(crate) prepared: &'a PreparedFilters<'a>,
    pub(crate) cluster: &'a Cluster,
}

impl<'a> Unplaced<'a> {
    /// What decides between candidates.
    fn order(self) -> &'a [Criterion] {
        self.profile.preemption.as_ref().map_or(&CRITERIA, |own| &own.order)
    }

    fn count_units(self, units: u64) {
        if let Some(own) = &self.profile.preemption {
            own.units.fetch_add(units, Ordering::Relaxed);
        }
    }
}

/// How far to search. The order is that of the nodes' names, from some start on and around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Every node that may do, from the first on.
    Whole,
    /// From a drawn node on, until there are as many candidates as the settings ask for, one of
    /// them within all budgets.
    Enough(Enough),
}

/// A node on which room can be made.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub(crate) slot: NodeSlot,
    /// In order of importance, or in an extender's; there is at least one.
    pub victims: Vec<Arc<Pod>>,
    /// How many of them go beyond a disruption budget.
    pub violations: usize,
    /// What each criterion says of it, worked out once: it is compared in later searches too.
    measures: Measures,
}

impl Candidate {
    pub(crate) fn new(slot: NodeSlot, victims: Vec<Arc<Pod>>, violations: usize) -> Self {
        let measures = Measures::of(&victims, violations);
        Self { slot, victims, violations, measures }
    }
}

impl Eq for Candidate {}

impl HeapBytes for Candidate {
    fn heap_bytes(&self) -> usize {
        let victims = self.victims.iter().map(|pod| pod.bytes_beyond_ordinary()).sum::<usize>();
        self.victims.capacity() * size_of::<Arc<Pod>>() + victims
    }
}

/// Equal where the same pods go.
impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        let uids = |candidate: &Self| -> Vec<Arc<str>> {
            candidate.victims.iter().map(|victim| Arc::clone(&victim.uid)).collect()
        };
        (self.slot, self.violations) == (other.slot, other.violations) && uids(self) == uids(other)
    }
}

/// What came of one node, and the units that finding out took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    outcome: Result<Arc<Candidate>, Arc<Unhelpful>>,
    units: u64,
}

impl DryRun {
    /// `None`: it takes more than is left.
    fn of<'a>(dry_runs: &mut DryRuns<'a>, node: NodeView<'a>, left: u64) -> Option<Self> {
        let mut work = Budget::new(left);
        let found = dry_runs.on(node, &mut work).ok()?;
        let outcome = found.map(Arc::new).map_err(Arc::new);
        Some(Self { outcome, units: work.spent() })
    }
}

impl HeapBytes for DryRun {
    fn heap_bytes(&self) -> usize {
        self.outcome.as_ref().map_or_else(arc_bytes, arc_bytes)
    }
}

/// What is known of making room on single nodes.
pub(crate) type CandidateMemo = ByNode<DryRun>;

/// What came of it.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// The pod may not evict any; what it is nominated to stays.
    NotEligible(NotEligible),
    Found {
        candidates: Vec<Arc<Candidate>>,
        /// Position of the one to take.
        chosen: usize,
    },
    NotFound {
        /// Nodes that were of interest at all.
        potential: usize,
        /// What kept nodes from being candidates.
        reasons: Histogram,
    },
    /// Looking for victims takes more work than one decision may. Nobody is evicted: the candidates
    /// found so far may not be those that the whole search would have chosen among.
    TooMuchWork { units_max: u64 },
    /// Extenders left none.
    NoneLeft,
    /// A rule could not judge, or an extender failed.
    Failed(String),
}

impl Attempt {
    pub(crate) fn chosen(&self) -> Option<&Candidate> {
        match self {
            Self::Found { candidates, chosen } => candidates.get(*chosen).map(AsRef::as_ref),
            _ => None,
        }
    }

    /// Why there is no room; empty where there is.
    pub(crate) fn message(&self, nodes_total: usize) -> String {
        match self {
            Self::NotEligible(why) => why.message().to_owned(),
            Self::Found { .. } => String::new(),
            Self::NotFound { reasons, .. } => message::fit_error(nodes_total, "", reasons, ""),
            Self::TooMuchWork { units_max } => format!(
                "looking for victims takes more work than one decision may: more than {units_max} units"
            ),
            Self::NoneLeft => NO_CANDIDATE.to_owned(),
            Self::Failed(why) => why.clone(),
        }
    }
}

/// Looks for a node where evicting pods makes room. `memo` is up to date and good for the pod.
pub(crate) fn attempt(unplaced: Unplaced<'_>, search: Search, memo: &mut CandidateMemo) -> Attempt {
    if let Some(why) = eligibility::refusal(unplaced) {
        return Attempt::NotEligible(why);
    }
    let potential = potential::nodes(unplaced);
    let Ok(found) = look(unplaced, search, &potential, memo) else {
        return Attempt::TooMuchWork { units_max: search_work::of_search(unplaced.cluster).left() };
    };
    match pick::pick(&found.candidates, unplaced) {
        Some(chosen) => Attempt::Found { candidates: found.candidates, chosen },
        None if !found.failures.is_empty() => Attempt::Failed(joined(found.failures)),
        None => {
            let reasons = found.reasons(unplaced.cluster.nodes().len());
            Attempt::NotFound { potential: potential.len(), reasons }
        }
    }
}

/// The nodes among which [`attempt`] would pick one.
pub(crate) fn candidates(
    unplaced: Unplaced<'_>,
    search: Search,
    memo: &mut CandidateMemo,
) -> Vec<Arc<Candidate>> {
    if eligibility::refusal(unplaced).is_some() {
        return Vec::new();
    }
    let found = look(unplaced, search, &potential::nodes(unplaced), memo);
    found.map_or_else(|_| Vec::new(), |found| found.candidates)
}

/// Pods that matter less and have to stay by the policy, on nodes where evicting pods may help.
pub fn spared(unplaced: Unplaced<'_>) -> Vec<(NodeSlot, Vec<Arc<Pod>>)> {
    if unplaced.profile.victims().is_none() {
        return Vec::new();
    }
    let evictable = Evictable::of(unplaced);
    let nodes = potential::nodes(unplaced).into_iter();
    let mut left = search_work::of_search(unplaced.cluster);
    let of_node = |slot: NodeSlot| {
        let node = unplaced.cluster.nodes().view(slot)?;
        let kept = evictable.kept(node, &mut left).ok()?;
        let pods = node.load.pods.iter().filter(|pod| kept.contains(pod.uid.as_ref()));
        (!kept.is_empty()).then(|| (slot, pods.cloned().collect()))
    };
    nodes.filter_map(of_node).collect()
}

#[derive(Debug, Default)]
struct Found {
    /// Those within all budgets first.
    candidates: Vec<Arc<Candidate>>,
    /// Nodes that are no candidates, by reason.
    unhelpful: Histogram,
    unhelpful_nodes: usize,
    failures: Vec<String>,
}

impl Found {
    fn reasons(&self, nodes_total: usize) -> Histogram {
        let mut reasons = self.unhelpful.clone();
        reasons.add(&[NOT_HELPFUL.into()], nodes_total.saturating_sub(self.unhelpful_nodes));
        reasons
    }
}

/// Looks for candidates. kube-scheduler stops when there are as many candidates as wanted and at
/// least one of them violates no disruption budget; of either sort it keeps no more than wanted.
fn look(
    unplaced: Unplaced<'_>,
    search: Search,
    potential: &[NodeSlot],
    memo: &mut CandidateMemo,
) -> Result<Found, Fault> {
    let (start, enough) = match search {
        Search::Whole => (0, usize::MAX),
        Search::Enough(settings) => {
            let start = unplaced.question.tie.start_among(potential.len());
            (start, enough(settings, potential.len()))
        }
    };
    let mut found = Found::default();
    let mut violating: Vec<Arc<Candidate>> = Vec::new();
    let (before, after) = potential.split_at_checked(start).unwrap_or((&[], potential));
    let nodes = unplaced.cluster.nodes();
    let mut ahead = after.iter().chain(before).filter_map(|slot| nodes.view(*slot)).peekable();
    let mut dry_runs = DryRuns::of(unplaced);
    let mut left = search_work::of_search(unplaced.cluster);
    while ahead.peek().is_some() {
        let missing = enough.saturating_sub(found.candidates.len() + violating.len());
        let stretch = ahead.by_ref().take(missing.clamp(1, STRETCH_MAX));
        let Some(tried) = tried(stretch, unplaced, &mut dry_runs, left.left(), memo) else {
            unplaced.count_units(left.left());
            return Err(left.exhausted());
        };
        for Tried { node, is_new, dry_run } in tried {
            let Some(dry_run) = dry_run else { continue };
            debug_assert_eq!(
                Some(&dry_run),
                DryRun::of(&mut DryRuns::of(unplaced), node, u64::MAX).as_ref(),
                "an argument left a trace, or what was known does not hold any more"
            );
            left.charge(dry_run.units)?;
            if is_new {
                unplaced.count_units(dry_run.units);
                memo.keep(node, dry_run.clone());
            }
            match dry_run.outcome {
                Ok(candidate) if candidate.violations == 0 => found.candidates.push(candidate),
                Ok(candidate) if violating.len() < enough => violating.push(candidate),
                Ok(_) => {}
                Err(why) => found.note(&why),
            }
        }
        if !found.candidates.is_empty() && found.candidates.len() + violating.len() >= enough {
            break;
        }
    }
    found.candidates.append(&mut violating);
    Ok(found)
}

impl Found {
    fn note(&mut self, why: &Unhelpful) {
        self.unhelpful_nodes += 1;
        match why {
            Unhelpful::NoVictims => self.unhelpful.add(&[NO_VICTIMS.into()], 1),
            Unhelpful::Rejected(status) => self.unhelpful.add(&status.reasons, 1),
            Unhelpful::Failed(why) => self.failures.push(why.clone()),
        }
    }
}

/// How many candidates are enough.
fn enough(settings: Enough, potential: usize) -> usize {
    let at_least = |wanted: i64| usize::try_from(wanted).unwrap_or(0);
    let share = potential * at_least(settings.min_candidate_nodes_percentage) / 100;
    share.max(at_least(settings.min_candidate_nodes_absolute)).clamp(1, potential.max(1))
}

/// Several failures as one text, each once.
fn joined(mut failures: Vec<String>) -> String {
    failures.sort_unstable();
    failures.dedup();
    match failures.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Enough, enough, joined};

    #[test]
    fn a_share_of_the_nodes_or_a_number_of_them_is_enough() {
        let enough = |percentage, absolute, potential| {
            let settings = Enough {
                min_candidate_nodes_percentage: percentage,
                min_candidate_nodes_absolute: absolute,
            };
            enough(settings, potential)
        };
        assert_eq!(enough(10, 100, 5000), 500);
        assert_eq!(enough(10, 100, 999), 100);
        assert_eq!(enough(10, 100, 60), 60);
        assert_eq!(enough(33, 0, 10), 3);
        assert_eq!(enough(0, 0, 10), 1);
        assert_eq!(enough(10, 100, 0), 1);
    }

    #[test]
    fn equal_failures_are_told_once() {
        assert_eq!(joined(vec!["a".into(), "a".into()]), "a");
        assert_eq!(joined(vec!["b".into(), "a".into(), "b".into()]), "[a, b]");
    }
}
