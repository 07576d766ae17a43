//! The cycle: from one pod to one node, or to why there is none.
//!
//! Owns the order of things (before any node, filters, scores, choice) and what is kept from decision
//! to decision. Assumes that the snapshot stands still meanwhile. Every node is judged; where nothing
//! moved, by looking up what was found before. `reference` does the same from scratch, and both always
//! agree. Must not change the snapshot.

mod argued;
mod filter_column;
mod nominated;
pub mod post_filter;
pub mod reference;
mod sampling;
mod score_column;
pub mod select;
mod shape;
mod shapes;
pub mod stage;
mod store;
mod totals;
pub mod verdicts;

use std::sync::Arc;

use crate::api::Stopwatch;
use crate::program::{Profile, Program};
use crate::rules::Status;
use crate::snapshot::{Cluster, NodeSlot, Pod};

pub use argued::{Argued, Forks};
pub use nominated::{ahead_of, behind};
pub use select::Tie;
pub use verdicts::{NodeRejection, PreparedFilters, Rejected};

use shape::{Shape, Stores};
use shapes::{ShapeKey, Shapes};
use stage::Left;
use totals::INFEASIBLE;

/// What became of one pod.
#[derive(Debug)]
pub enum Outcome {
    Chosen {
        slot: NodeSlot,
        total: i64,
        feasible: usize,
    },
    Rejected(Rejected),
    /// A rule could not judge.
    Failed(String),
}

#[derive(Debug)]
pub struct Timed {
    pub outcome: Outcome,
    pub filter_ns: u64,
    pub score_ns: u64,
}

/// What a decision is about, besides the snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub pod: &'a Arc<Pod>,
    pub program: &'a Program,
    /// Position of the profile that serves the pod.
    pub profile: usize,
    pub tie: Tie,
}

/// All that is kept from decision to decision. A new program starts with a new one.
#[derive(Debug, Default)]
pub struct Cycle {
    shapes: Shapes,
    key: ShapeKey,
    sampling: sampling::Sampling,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct CacheSize {
    pub shapes: usize,
    pub columns: usize,
    pub bytes: usize,
    pub hits: u64,
    pub misses: u64,
}

impl Cycle {
    pub fn size(&self) -> CacheSize {
        CacheSize {
            shapes: self.shapes.len(),
            columns: self.shapes.columns(),
            bytes: self.shapes.bytes(),
            hits: self.shapes.hits,
            misses: self.shapes.misses,
        }
    }

    /// Decides; then hands a rejection to `make_room`, with the prepared filters it rests on.
    pub fn decide<R>(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        stopwatch: &dyn Stopwatch,
        make_room: impl FnOnce(&Rejected, &PreparedFilters<'_>) -> R,
    ) -> (Timed, Option<R>) {
        let start = stopwatch.elapsed_ns();
        let mut filtered = start;
        let Some(profile) = question.program.profiles.get(question.profile) else {
            let outcome = Outcome::Failed("the profile is gone".to_owned());
            return (Timed { outcome, filter_ns: 0, score_ns: 0 }, None);
        };
        self.key.set(question.profile, profile, question.pod);
        let id = self.shapes.find(&self.key, profile, question.pod, cluster);
        let Some((shape, stores)) = self.shapes.shape_and_stores(id) else {
            let outcome = Outcome::Failed("the shape is gone".to_owned());
            return (Timed { outcome, filter_ns: 0, score_ns: 0 }, None);
        };
        let mut run =
            Run { question, profile, cluster, shape, stores, sampling: &mut self.sampling };
        let outcome = run.decide(|| filtered = stopwatch.elapsed_ns());
        let end = stopwatch.elapsed_ns();
        let room = match &outcome {
            Outcome::Rejected(rejected) => {
                filtered = end;
                Some(make_room(rejected, &run.shape.prepared(run.stores)))
            }
            _ => None,
        };
        self.shapes.weigh(id, cluster.nodes().slots());
        let filter_ns = filtered.saturating_sub(start);
        (Timed { outcome, filter_ns, score_ns: end.saturating_sub(filtered) }, room)
    }
}

/// One decision under way.
struct Run<'a> {
    question: Question<'a>,
    profile: &'a Profile,
    cluster: &'a Cluster,
    shape: &'a mut Shape,
    stores: &'a mut Stores,
    sampling: &'a mut sampling::Sampling,
}

impl Run<'_> {
    fn decide(&mut self, filtered: impl FnOnce()) -> Outcome {
        let (profile, cluster, pod) = (self.profile, self.cluster, self.question.pod.as_ref());
        self.shape.follow_filters(profile, pod, cluster, self.stores);
        let prepared = self.shape.prepared(self.stores);
        let left = match stage::before_nodes(profile, &prepared, cluster) {
            Ok(left) => left,
            Err(rejected) => return Outcome::Rejected(rejected),
        };
        if let Some(slot) = self.nominated_node(&prepared, &left) {
            filtered();
            return self.choose_among(&[slot]);
        }
        match left {
            Left::Only { slots, narrowed_by } => {
                let (feasible, mut rejected) = self.judge_each(&slots, &prepared);
                filtered();
                if let Some(failed) = failure(&rejected, profile, cluster) {
                    return failed;
                }
                if feasible.is_empty() {
                    rejected.narrowed_by = narrowed_by;
                    return Outcome::Rejected(rejected);
                }
                self.choose_among(&feasible)
            }
            Left::All => self.decide_among_all(filtered),
        }
    }

    /// Clause: the node that a pod is nominated to is tried first, and if it is feasible, it is it.
    fn nominated_node(&self, prepared: &PreparedFilters<'_>, left: &Left) -> Option<NodeSlot> {
        let nominations = self.cluster.nominations();
        let node = nominations.node_of(&self.question.pod.uid)?;
        let slot = self.cluster.nodes().find(node)?;
        if matches!(left, Left::Only { slots, .. } if !slots.contains(&slot)) {
            return None;
        }
        self.rejection_of(slot, prepared).is_none().then_some(slot)
    }

    /// The verdict on one node, nominated pods included.
    fn rejection_of(
        &self,
        slot: NodeSlot,
        prepared: &PreparedFilters<'_>,
    ) -> Option<NodeRejection> {
        let view = self.cluster.nodes().view(slot)?;
        let (pod, program) = (self.question.pod, self.question.program);
        let ahead = nominated::ahead_of(pod, &view.node.name, program, self.cluster);
        nominated::with_pods(slot, &ahead, prepared, self.cluster)
            .or_else(|| nominated::first_rejection(prepared, self.cluster, view))
    }

    fn judge_each(
        &self,
        slots: &[NodeSlot],
        prepared: &PreparedFilters<'_>,
    ) -> (Vec<NodeSlot>, Rejected) {
        let mut rejected = Rejected::default();
        let mut feasible = Vec::new();
        for slot in slots {
            match self.rejection_of(*slot, prepared) {
                Some(rejection) => rejected.nodes.push(rejection),
                None => feasible.push(*slot),
            }
        }
        (feasible, rejected)
    }

    fn decide_among_all(&mut self, filtered: impl FnOnce()) -> Outcome {
        let (cluster, program, pod) = (self.cluster, self.question.program, self.question.pod);
        self.shape.update_feasible(cluster, self.stores);
        if let Some(failure) = self.shape.failure(cluster, self.stores) {
            return self.failed(&failure);
        }
        let prepared = self.shape.prepared(self.stores);
        let closed = nominated::rejections(pod, program, &prepared, cluster);
        let percentage = self.profile.percentage_of_nodes_to_score;
        let is_plain = closed.is_empty() && percentage == 100;
        if is_plain && self.shape.feasible().count > 0 {
            filtered();
            return self.choose_among_all();
        }
        let mut rejections = self.shape.rejections(cluster, self.stores);
        if !closed.is_empty() {
            rejections.retain(|have| closed.iter().all(|other| other.slot != have.slot));
            rejections.extend(closed);
        }
        let feasible = self.feasible_slots(&rejections);
        let feasible = self.sampling.sample(percentage, feasible, &rejections, cluster.nodes());
        filtered();
        if feasible.is_empty() {
            return Outcome::Rejected(Rejected { nodes: rejections, ..Rejected::default() });
        }
        self.choose_among(&feasible)
    }

    fn feasible_slots(&self, rejections: &[NodeRejection]) -> Vec<NodeSlot> {
        let mut is_rejected = vec![false; self.cluster.nodes().slots()];
        for rejection in rejections {
            if let Some(cell) = is_rejected.get_mut(rejection.slot.index()) {
                *cell = true;
            }
        }
        let is_feasible = |slot: &NodeSlot| is_rejected.get(slot.index()) == Some(&false);
        self.cluster.nodes().by_rank().iter().copied().filter(is_feasible).collect()
    }

    fn failed(&self, failure: &NodeRejection) -> Outcome {
        let prepared = self.shape.prepared(self.stores);
        let status = Rejected::default().status(failure, &prepared, self.cluster);
        let mut told = failure.clone();
        told.status = status;
        failed_by(&told, self.profile)
    }

    /// Scores a few nodes and chooses; there is at least one.
    fn choose_among(&mut self, slots: &[NodeSlot]) -> Outcome {
        let (profile, cluster, pod) = (self.profile, self.cluster, self.question.pod.as_ref());
        let totals = self.shape.totals_of_only(slots, profile, pod, cluster, self.stores);
        match choose(slots, &totals, self.question.tie, cluster) {
            Some((slot, total)) => Outcome::Chosen { slot, total, feasible: slots.len() },
            None => Outcome::Failed("no node could be chosen".to_owned()),
        }
    }

    fn choose_among_all(&mut self) -> Outcome {
        let (profile, cluster, pod) = (self.profile, self.cluster, self.question.pod.as_ref());
        self.shape.update_totals(profile, pod, cluster, self.stores);
        let totals = self.shape.totals();
        let best = highest(totals);
        let is_tied = |slot: NodeSlot| totals.get(slot.index()) == Some(&best);
        let all_tied =
            || cluster.nodes().iter().map(|view| view.slot).filter(|slot| is_tied(*slot));
        let chosen =
            self.question.tie.break_among(cluster.nodes(), is_tied, || all_tied().collect());
        match chosen {
            Some(slot) if best != INFEASIBLE => Outcome::Chosen {
                slot,
                total: i64::from(best),
                feasible: self.shape.feasible().count,
            },
            _ => Outcome::Failed("no node could be chosen".to_owned()),
        }
    }
}

fn highest(totals: &[i32]) -> i32 {
    totals.iter().fold(INFEASIBLE, |best, total| if *total > best { *total } else { best })
}

/// The best of some nodes.
pub fn choose(
    slots: &[NodeSlot],
    totals: &[i32],
    tie: Tie,
    cluster: &Cluster,
) -> Option<(NodeSlot, i64)> {
    let best = highest(totals);
    let tied: Vec<NodeSlot> = slots
        .iter()
        .zip(totals)
        .filter(|(_, total)| **total == best)
        .map(|(slot, _)| *slot)
        .collect();
    let mut sorted = tied.clone();
    sorted.sort_unstable();
    let is_tied = |slot: NodeSlot| sorted.binary_search(&slot).is_ok();
    let slot = tie.break_among(cluster.nodes(), is_tied, || tied)?;
    Some((slot, i64::from(best)))
}

/// The failure among rejections, if any: it fails the whole cycle.
fn failure(rejected: &Rejected, profile: &Profile, cluster: &Cluster) -> Option<Outcome> {
    let mut failures: Vec<&NodeRejection> =
        rejected.nodes.iter().filter(|node| node.code.is_failure()).collect();
    failures.sort_unstable_by_key(|failure| cluster.nodes().rank_of(failure.slot));
    failures.first().map(|failure| failed_by(failure, profile))
}

fn failed_by(failure: &NodeRejection, profile: &Profile) -> Outcome {
    Outcome::Failed(filter_failure(profile, failure.filter, failure.status.as_ref()))
}

/// What the user reads where a filter could not judge.
pub fn filter_failure(profile: &Profile, filter: usize, status: Option<&Status>) -> String {
    let name = profile.filters.get(filter).map_or("", |filter| filter.name.as_ref());
    let why = status.map(Status::message).unwrap_or_default();
    format!("running {name:?} filter plugin: {why}")
}
