//! The cycle: finds a node for a pod, or the reasons why there is none.
//!
//! Stages: checks before any node, filters, scores, choice. Results are kept from decision to
//! decision: every node is judged, but where nothing changed the answer is looked up. The snapshot
//! does not change during a decision, and a decision does not change it. `reference` makes the same
//! decision from scratch, and both always agree.

mod ahead;
pub mod best;
mod cache_bound;
mod column;
mod context;
mod filling;
mod filter_answers;
mod fit_error;
mod lent;
mod newcomers;
mod node_memos;
pub(crate) mod post_filter;
mod raw_scores;
pub(crate) mod reference;
mod run;
mod run_kept;
mod run_sampled;
mod sampling;
mod score_answers;
mod selection;
mod shape;
mod shape_key;
mod shape_score;
mod shapes;
mod spare;
mod store;
mod stores;
mod totals;

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use crate::api::{Still, Stopwatch};
use crate::judging::{Failure, NodeRejection, Question};
use crate::preemption::{Candidate, Trimmed};
use crate::program::{Profile, Program};
use crate::snapshot::{Cluster, NodeSlot, Pod};
use crate::timing::{Lasted, Meter, Stages, Unmetered};

pub(crate) use ahead::{LANES_MIN, Prospect, Prospects};
pub(crate) use cache_bound::CacheBound;
pub(crate) use fit_error::FitError;
pub(crate) use sampling::Sampling;

use context::Context;
use fit_error::Say;
use run::Run;
use shape_key::ShapeKey;
use shapes::{Found, Shapes};

/// What became of one pod.
#[derive(Debug)]
pub(crate) enum CycleOutcome {
    Chosen {
        slot: NodeSlot,
        total: i64,
        feasible: usize,
    },
    Rejected(Arc<FitError>),
    /// A rule could not judge.
    Failed(Failure),
}

/// What came of a step, and how long its stages took.
#[derive(Debug, Default)]
pub(crate) struct Timed<T> {
    pub(crate) outcome: T,
    pub(crate) lasted: Lasted,
}

/// Through what a cycle is watched.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a, M> {
    pub(crate) stopwatch: &'a dyn Stopwatch,
    pub(crate) meter: M,
}

/// Without an observer.
pub(crate) const UNWATCHED: Watched<'static, Unmetered> =
    Watched { stopwatch: &Still, meter: Unmetered };

/// What extenders made of the nodes that passed the filters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extended {
    /// Nodes that they kept, and what each gets on top of its total.
    pub(crate) kept: BTreeMap<NodeSlot, i64>,
    pub(crate) refused: Vec<NodeRejection>,
    /// Something changed since they were asked.
    pub(crate) is_stale: bool,
}

/// All that is kept from decision to decision. A new program starts with a new one.
#[derive(Debug, Default)]
pub(crate) struct Cycle {
    shapes: Shapes,
    key: ShapeKey,
    sampling: Sampling,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CacheSize {
    pub(crate) shapes: usize,
    pub(crate) columns: usize,
    pub(crate) bytes: usize,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// Decisions for which nodes were asked one by one, as columns would have held too much.
    pub(crate) uncached: u64,
}

/// What the rules of a profile read of a pod: pods with equal keys get equal answers of each.
pub(crate) fn key_of(position: usize, profile: &Profile, pod: &Pod, cluster: &Cluster) -> Vec<u64> {
    let mut key = ShapeKey::default();
    key.set(position, profile, pod, cluster);
    key.parts().to_vec()
}

/// Whether a profile has only some nodes scored.
pub(crate) fn is_sampled(profile: &Profile) -> bool {
    sampling::is_asked_for(profile)
}

/// Where nobody is looked ahead at.
pub(crate) fn nobody(_: usize) -> Prospects {
    Prospects::default()
}

impl Cycle {
    pub(crate) fn size(&self) -> CacheSize {
        CacheSize {
            shapes: self.shapes.len(),
            columns: self.shapes.columns(),
            bytes: self.shapes.bytes(),
            hits: self.shapes.hits,
            misses: self.shapes.misses,
            uncached: self.shapes.uncached,
        }
    }

    /// From now on shapes and columns hold no more than that.
    pub(crate) fn limit(&mut self, bound: CacheBound) {
        self.shapes.limit(bound);
    }

    /// Decides, and where no node will do, tries to make room. `upcoming` gives the pods that are likely
    /// to be decided next, the one in question first; it is told how many columns that one lacks.
    pub(crate) fn decide<M: Meter>(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        watched: Watched<'_, M>,
        upcoming: impl FnOnce(usize) -> Prospects,
    ) -> Timed<CycleOutcome> {
        let decided = self.run(question, cluster, watched, upcoming, |run| {
            let known = run.shape.fit_error(question.pod, cluster);
            // A debug build finds out whether it would be refused the same way again.
            if let Some(fit_error) = known.as_ref().filter(|_| !cfg!(debug_assertions)) {
                run.end_known(fit_error);
                return CycleOutcome::Rejected(Arc::clone(fit_error));
            }
            let found = run.decide();
            let outcome = run.outcome(found, Say::Nothing);
            debug_assert!(
                known.is_none_or(|known| {
                    matches!(&outcome, CycleOutcome::Rejected(new) if *new == known)
                }),
                "a fit_error that was known does not hold any more"
            );
            outcome
        });
        decided.unwrap_or_else(|| Timed { outcome: vanished(), lasted: Lasted::default() })
    }

    /// The first half of a decision, for extenders: nodes that pass every filter. All of them are in order
    /// of names; a sample is in the order in which it was found.
    pub(crate) fn filter<M: Meter>(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        watched: Watched<'_, M>,
    ) -> Timed<Vec<NodeSlot>> {
        let filtered =
            self.run(question, cluster, watched, nobody, |run| run.filter().unwrap_or_default());
        filtered.unwrap_or_default()
    }

    /// Whether a node passes every filter.
    pub(crate) fn accepts(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        slot: NodeSlot,
    ) -> bool {
        let accepted = self.run(question, cluster, UNWATCHED, nobody, |run| run.accepts(slot));
        accepted.is_some_and(|accepted| accepted.outcome)
    }

    /// The second half: chooses among those that extenders kept, or else makes room, among what they
    /// left of the candidates if they were asked. `None`: ask them again. What extenders say is not
    /// known of the next pod alike.
    pub(crate) fn choose<M: Meter>(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        watched: Watched<'_, M>,
        extended: &Extended,
        trimmed: Option<&Trimmed>,
    ) -> Timed<Option<CycleOutcome>> {
        let chosen = self.run(question, cluster, watched, nobody, |run| {
            let found = run.choose_kept(extended)?;
            let outcome = run.outcome(found, trimmed.map_or(Say::Nodes, Say::Room));
            let is_spent =
                matches!(&outcome, CycleOutcome::Rejected(fit_error) if fit_error.room.is_spent);
            let is_stale = trimmed.is_some_and(|trimmed| trimmed.is_stale);
            (!(is_spent && is_stale)).then_some(outcome)
        });
        chosen.unwrap_or_else(|| Timed { outcome: Some(vanished()), lasted: Lasted::default() })
    }

    /// Between the halves, where extenders have a say in who is to go: nodes on which room can be
    /// made. None where the second half does not come to that.
    pub(crate) fn candidates(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        extended: &Extended,
    ) -> Vec<Arc<Candidate>> {
        let found = self.run(question, cluster, UNWATCHED, nobody, |run| run.candidates(extended));
        found.unwrap_or_default().outcome
    }

    /// Where looking at only some of the nodes stands.
    pub(crate) fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// From now on it stands where the other does, and the other where it stood.
    pub(crate) fn exchange_sampling(&mut self, other: &mut Sampling) {
        mem::swap(&mut self.sampling, other);
    }

    /// Does `work` with the shape of the pod. `None` only if the profile is gone.
    fn run<M: Meter, T>(
        &mut self,
        question: Question<'_>,
        cluster: &Cluster,
        Watched { stopwatch, meter }: Watched<'_, M>,
        upcoming: impl FnOnce(usize) -> Prospects,
        work: impl FnOnce(&mut Run<'_, M>) -> T,
    ) -> Option<Timed<T>> {
        let mut stages = Stages::begin(stopwatch);
        let profile = question.program.profiles.get(question.profile)?;
        self.key.set(question.profile, profile, question.pod, cluster);
        let context = Context { profile, pod: question.pod.as_ref(), cluster, meter };
        self.shapes.follow(cluster.nodes().slots());
        let Found { id, ahead } = match self.shapes.find(&self.key) {
            Some(found) => found,
            None => {
                let (shapes, program) = (&mut self.shapes, question.program);
                let prospects = match sampling::is_asked_for(profile) {
                    true => Prospects::default(),
                    false => {
                        let columns = shapes.missing_columns(&self.key, profile);
                        of_all_nodes(upcoming(columns), program)
                    }
                };
                if prospects.are_enough(prospects.pods.len()) {
                    shapes.make_ahead(&prospects, question, cluster, stopwatch);
                    stages = Stages::begin(stopwatch);
                }
                self.shapes.find_or_make(&self.key, context)
            }
        };
        meter.add(&ahead.rules);
        let is_cached = !sampling::is_asked_for(profile) && self.shapes.has_room(id, context);
        let (shape, stores) = self.shapes.shape_and_stores(id)?;
        let sampling = &mut self.sampling;
        let mut run =
            Run { question, profile, cluster, shape, stores, is_cached, sampling, stages, meter };
        let outcome = work(&mut run);
        let lasted = run.stages.lasted().with(ahead.filter_ns, ahead.score_ns);
        self.shapes.weigh(id);
        Some(Timed { outcome, lasted })
    }
}

/// Who looks at only some of the nodes has no use for columns of all.
fn of_all_nodes(mut prospects: Prospects, program: &Program) -> Prospects {
    let is_sampled = |at: usize| program.profiles.get(at).is_some_and(sampling::is_asked_for);
    prospects.pods.retain(|prospect| !is_sampled(prospect.profile));
    prospects
}

fn vanished() -> CycleOutcome {
    CycleOutcome::Failed("the profile is gone".to_owned().into())
}
