//! The score: early alternatives of a request are better.

use crate::model::{Allocation, Kind, ResourceClaim, Wanted};
use crate::release::Gate;
use crate::rules::{
    HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score, ScoreProblem,
};
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

use super::DynamicResources;
use super::filter::{is_concerned, is_stale, key};
use super::state::State;

/// The API allows so many alternatives.
const ALTERNATIVES_MAX: usize = 8;

#[derive(Debug)]
struct Prepared {
    /// `None`: every node scores 0.
    state: Option<State>,
    /// How many of the pod's claims had waited too long for their devices.
    overdue: usize,
    problem: Option<Box<str>>,
}

/// 1.35 pairs each claim of the pod with a new allocation.
fn problem(state: &State) -> Option<Box<str>> {
    let open = state.claims.iter().filter(|claim| claim.allocation.is_none()).count();
    let special = usize::from(state.extended.is_some());
    let is_short = open < state.claims.len() && open + special > 0;
    let allocations = open + special;
    is_short.then(|| {
        format!("number of allocations {allocations} is smaller than number of claims").into()
    })
}

impl Score for DynamicResources {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self::key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let has_list = |claim: &ResourceClaim| {
            let is_list = |wanted: &Wanted| matches!(wanted, Wanted::FirstAvailable(_));
            claim.requests.iter().any(|request| is_list(&request.wanted))
        };
        // Where all claims are allocated, every node is as good.
        let is_open = |state: &State| {
            state.extended.is_some() || state.claims.iter().any(|claim| claim.allocation.is_none())
        };
        let state = is_concerned(pod).then(|| State::of(self, pod, cluster));
        let state = state.and_then(Result::ok).flatten();
        let state = state.filter(|_| self.followed.has(Gate::DRAPrioritizedList));
        let pairs = self.followed.traits().scores_claims_as_new;
        let problem = state.as_ref().filter(|_| pairs).and_then(problem);
        let state = state
            .filter(|state| is_open(state) && state.claims.iter().any(|claim| has_list(claim)));
        let overdue = state.as_ref().map_or(0, |state| state.overdue(cluster));
        Some(Box::new(Prepared { state, overdue, problem }))
    }

    fn kinds(&self) -> &'static [Kind] {
        self.kinds_read()
    }
}

/// What a score reads of nodes.
pub(super) fn reads(state: Option<&State>) -> Reads {
    match state {
        Some(_) => Reads::parts(NodeParts::LABELS.with(NodeParts::ALLOCATABLE)),
        None => Reads::parts(NodeParts::NONE),
    }
}

/// Whether a score is to be prepared again. `overdue`: how many claims had waited too long.
pub(super) fn is_outdated(
    state: Option<&State>,
    overdue: usize,
    changes: Changes<'_>,
    cluster: &Cluster,
) -> bool {
    let is_changed = |state: &State| state.is_stale(cluster) || state.overdue(cluster) != overdue;
    is_stale(changes) || state.is_some_and(is_changed)
}

impl PreparedScore for Prepared {
    fn reads(&self) -> Reads {
        reads(self.state.as_ref())
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        match is_outdated(self.state.as_ref(), self.overdue, changes, cluster) {
            true => Refresh::Again,
            false => Refresh::Nodes,
        }
    }

    fn problem(&self) -> Option<ScoreProblem<'_>> {
        self.problem.as_deref().map(ScoreProblem::Score)
    }

    #[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let Some(state) = &self.state else { return 0.0 };
        let answer = state.answer(cluster, node);
        if !answer.gives() || !state.unavailable(cluster, node).is_empty() {
            return 0.0;
        }
        let before = state.claims.iter().filter_map(|claim| {
            claim.allocation.as_deref().map(|allocation| points(claim, allocation))
        });
        (answer.points() + before.sum::<usize>()) as f64
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Highest
    }

    fn held_bytes(&self) -> HeldBytes {
        use crate::heap::HeapBytes;
        let held = self.state.as_ref().map_or(0, HeapBytes::heap_bytes);
        let text = self.problem.as_ref().map_or(0, HeapBytes::heap_bytes);
        HeldBytes::Fixed(size_of_val(self) + held + text)
    }
}

/// What the alternatives of an allocation are worth.
pub(super) fn points(claim: &ResourceClaim, allocation: &Allocation) -> usize {
    let mut sum = 0;
    for request in claim.requests.iter() {
        let Wanted::FirstAvailable(asks) = &request.wanted else { continue };
        let is_chosen = |name: &str| {
            allocation
                .devices
                .iter()
                .any(|device| device.request.split_once('/') == Some((&*request.name, name)))
        };
        if let Some(place) = asks.iter().position(|ask| is_chosen(&ask.name)) {
            sum += ALTERNATIVES_MAX.saturating_sub(place);
        }
    }
    sum
}
