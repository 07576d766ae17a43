//! One decision: the stages in their order.

use std::sync::Arc;

use crate::judging::pre_filter::{self, NodesToCheck};
use crate::judging::{
    Failure, NodeRejection, PreparedFilters, Question, Rejected, filter_failure, new_node,
    nominated, pre_filter_failure,
};
use crate::preemption::{Candidate, CandidateMemo, Unplaced};
use crate::program::Profile;
use crate::snapshot::{Cluster, NodeSlot, NodeView};
use crate::timing::{Meter, Point, Stages, StatusCode};

use super::context::Context;
use super::fit_error::{FitError, Say};
use super::post_filter;
use super::sampling::{self, Sampling};
use super::shape::Shape;
use super::stores::Stores;
use super::{CycleOutcome, Extended};

/// What the stages came to.
#[derive(Debug)]
pub(super) enum Found {
    Chosen {
        slot: NodeSlot,
        total: i64,
        feasible: usize,
    },
    Rejected(Rejected),
    /// A rule could not judge.
    Failed(Failure),
}

/// What passed the filters.
pub(super) enum Passing {
    /// What the shape's columns say, and no more.
    AsCached,
    /// In order of names, and what rejected the others.
    Listed(Vec<NodeSlot>, Rejected),
}

/// What becomes of a pod's nomination.
pub(super) enum Nominated {
    /// There is none that counts.
    Nowhere,
    Rejected(NodeRejection),
    Feasible(NodeSlot),
}

impl Nominated {
    /// Adds the verdict on the nominated node, if the node was not among those that were looked at.
    pub(super) fn rejected_with(self, mut others: Rejected) -> Rejected {
        if let Self::Rejected(own) = self
            && !others.nodes.iter().any(|node| node.slot == own.slot)
        {
            others.nodes.push(own);
        }
        others
    }

    /// A node that was tried for nothing.
    pub(super) fn attempted(&self) -> Option<NodeSlot> {
        match self {
            Self::Rejected(rejection) => Some(rejection.slot),
            Self::Nowhere | Self::Feasible(_) => None,
        }
    }
}

/// One decision under way.
pub(super) struct Run<'a, M> {
    pub(crate) question: Question<'a>,
    pub(crate) profile: &'a Profile,
    pub(crate) cluster: &'a Cluster,
    pub(crate) shape: &'a mut Shape,
    pub(crate) stores: &'a mut Stores,
    /// There is room for columns of all nodes; otherwise nodes are asked one by one.
    pub(crate) is_cached: bool,
    pub(crate) sampling: &'a mut Sampling,
    pub(crate) stages: Stages<'a>,
    pub(crate) meter: M,
}

impl<'a, M: Meter> Run<'a, M> {
    pub(super) fn context(&self) -> Context<'a, M> {
        let (profile, cluster, pod) = (self.profile, self.cluster, self.question.pod);
        Context { profile, pod: pod.as_ref(), cluster, meter: self.meter }
    }

    pub(super) fn decide(&mut self) -> Found {
        let left = match self.left() {
            Ok(left) => left,
            Err(outcome) => return outcome,
        };
        let nominated = self.nominated_node();
        if let Nominated::Feasible(slot) = nominated {
            self.stages.end(Point::Filter, StatusCode::Success);
            return self.choose_among(&[slot], &[]);
        }
        if sampling::is_asked_for(self.profile) {
            return self.choose_among_some(left, nominated);
        }
        let passing = match self.passing(left) {
            Ok(passing) => passing,
            Err(failed) => return failed,
        };
        self.stages.end(Point::Filter, StatusCode::Success);
        match passing {
            Passing::AsCached => self.choose_among_all(),
            Passing::Listed(feasible, rejected) if feasible.is_empty() => {
                Found::Rejected(nominated.rejected_with(rejected))
            }
            Passing::Listed(feasible, _) => self.choose_among(&feasible, &[]),
        }
    }

    /// Nodes that pass every filter, as many as are enough.
    pub(super) fn filter(&mut self) -> Result<Vec<NodeSlot>, Found> {
        let left = self.left()?;
        if sampling::is_asked_for(self.profile) {
            return self.some_for_extenders(&left);
        }
        let passing = self.passing(left)?;
        let (feasible, _) = self.listed(passing);
        self.stages.end(Point::Filter, StatusCode::Success);
        Ok(feasible)
    }

    /// Whether a node passes every filter.
    pub(super) fn accepts(&mut self, slot: NodeSlot) -> bool {
        let Ok(left) = self.left() else { return false };
        if matches!(left, NodesToCheck::Only { slots, .. } if !slots.contains(&slot)) {
            return false;
        }
        self.verdict_on(slot, &self.shape.prepared(self.stores)).is_none()
    }

    /// Nodes that are left to look at, or what the pod as a whole comes to.
    pub(super) fn left(&mut self) -> Result<NodesToCheck, Found> {
        let (profile, cluster) = (self.profile, self.cluster);
        self.shape.follow_filters(self.context(), self.stores);
        let left = pre_filter::run(profile, &self.shape.prepared(self.stores), cluster);
        let rejection = left.as_ref().err().and_then(|rejected| rejected.pre_filter.as_deref());
        let status = rejection.map_or(StatusCode::Success, |(_, status)| status.rejection.into());
        self.stages.end(Point::PreFilter, status);
        left.map_err(|rejected| {
            let failure = pre_filter_failure(profile, &rejected);
            failure.map_or(Found::Rejected(rejected), Found::Failed)
        })
    }

    /// kube-scheduler tries the nominated node first, even if it is not among the nodes that are left
    /// to look at, and takes it if it is feasible.
    pub(super) fn nominated_node(&self) -> Nominated {
        let nominations = self.cluster.nominations();
        let own = nominations.node_of(&self.question.pod.uid);
        let Some(slot) = own.and_then(|node| self.cluster.nodes().find(node)) else {
            return Nominated::Nowhere;
        };
        match self.rejection_of(slot, &self.shape.prepared(self.stores)) {
            None => Nominated::Feasible(slot),
            Some(rejection) if rejection.code.is_failure() => Nominated::Nowhere,
            Some(rejection) => Nominated::Rejected(rejection),
        }
    }

    /// As [`Run::verdict_on`], with its status.
    fn rejection_of(
        &self,
        slot: NodeSlot,
        prepared: &PreparedFilters<'_>,
    ) -> Option<NodeRejection> {
        let rejection = self.verdict_on(slot, prepared)?;
        let status = rejection.full_status(prepared, self.cluster);
        Some(NodeRejection { status, ..rejection })
    }

    /// The verdict on one node, nominated pods included.
    pub(super) fn verdict_on(
        &self,
        slot: NodeSlot,
        prepared: &PreparedFilters<'_>,
    ) -> Option<NodeRejection> {
        self.cluster.progress().beat();
        let view = self.cluster.nodes().view(slot)?;
        let with_nominated = || {
            let (pod, program) = (self.question.pod, self.question.program);
            let ahead = nominated::ahead_of(pod, &view.node.name, program, self.cluster);
            nominated::with_pods(slot, &ahead, prepared, self.cluster)
        };
        let has_nominations = !self.cluster.nominations().is_empty();
        has_nominations.then(with_nominated).flatten().or_else(|| {
            let (filter, code) =
                nominated::first_verdict(prepared, self.cluster, view, self.meter)?;
            Some(NodeRejection { slot, filter, code, status: None })
        })
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

    /// Asks the nodes that are left. A failure of one is the end of it.
    pub(super) fn passing(&mut self, left: NodesToCheck) -> Result<Passing, Found> {
        match left {
            NodesToCheck::All if self.is_cached => self.passing_of_all(),
            NodesToCheck::All => self.passing_one_by_one(),
            NodesToCheck::Only { slots, narrowed_by } => {
                let prepared = self.shape.prepared(self.stores);
                let (feasible, mut rejected) = self.judge_each(&slots, &prepared);
                rejected.narrowed_by = narrowed_by;
                match first_failure(&rejected.nodes, self.cluster) {
                    Some(failure) => Err(self.failed(failure)),
                    None => Ok(Passing::Listed(feasible, rejected)),
                }
            }
        }
    }

    fn passing_of_all(&mut self) -> Result<Passing, Found> {
        let (cluster, question, profile) = (self.cluster, self.question, self.profile);
        self.shape.update_feasible(self.context(), self.stores);
        let closed = match cluster.nominations().is_empty() {
            true => Vec::new(),
            false => self.shape.closed(question, profile, cluster, self.stores),
        };
        let is_closed = self.marked(&closed);
        let is_open = |node: &NodeRejection| is_closed.get(node.slot.index()) != Some(&true);
        let failures = self.shape.failures(cluster, self.stores);
        let failures = failures.iter().filter(|node| is_open(node));
        if let Some(failure) = first_failure(failures.chain(&closed), cluster) {
            return Err(self.failed(failure));
        }
        if closed.is_empty() && self.shape.feasible().count > 0 {
            return Ok(Passing::AsCached);
        }
        let mut nodes = self.shape.rejections(cluster, self.stores);
        nodes.retain(is_open);
        nodes.extend(closed);
        let feasible = self.feasible_slots(&nodes);
        Ok(Passing::Listed(feasible, Rejected { nodes, ..Rejected::default() }))
    }

    /// As [`Run::passing_of_all`], without columns.
    fn passing_one_by_one(&mut self) -> Result<Passing, Found> {
        let prepared = self.shape.prepared(self.stores);
        let cluster = self.cluster;
        let verdict_on = |node: NodeView<'_>| self.verdict_on(node.slot, &prepared);
        let nodes: Vec<NodeRejection> = cluster.nodes().iter().filter_map(verdict_on).collect();
        if let Some(failure) = first_failure(&nodes, cluster) {
            return Err(self.failed(failure));
        }
        let feasible = self.feasible_slots(&nodes);
        Ok(Passing::Listed(feasible, Rejected { nodes, ..Rejected::default() }))
    }

    /// One by one.
    pub(super) fn listed(&self, passing: Passing) -> (Vec<NodeSlot>, Rejected) {
        match passing {
            Passing::Listed(feasible, rejected) => (feasible, rejected),
            Passing::AsCached => {
                let nodes = self.shape.rejections(self.cluster, self.stores);
                let feasible = self.feasible_slots(&nodes);
                (feasible, Rejected { nodes, ..Rejected::default() })
            }
        }
    }

    fn feasible_slots(&self, rejections: &[NodeRejection]) -> Vec<NodeSlot> {
        let is_rejected = self.marked(rejections);
        let is_feasible = |slot: &NodeSlot| is_rejected.get(slot.index()) != Some(&true);
        self.cluster.nodes().by_rank().iter().copied().filter(is_feasible).collect()
    }

    /// By slot, whether a node is among them; empty where there are none.
    fn marked(&self, rejections: &[NodeRejection]) -> Vec<bool> {
        if rejections.is_empty() {
            return Vec::new();
        }
        let mut is_marked = vec![false; self.cluster.nodes().slots()];
        for rejection in rejections {
            if let Some(cell) = is_marked.get_mut(rejection.slot.index()) {
                *cell = true;
            }
        }
        is_marked
    }

    /// What becomes of the pod; where no node will do, room is made for it.
    pub(super) fn outcome(&mut self, found: Found, say: Say<'_>) -> CycleOutcome {
        match found {
            Found::Chosen { slot, total, feasible } => {
                CycleOutcome::Chosen { slot, total, feasible }
            }
            Found::Failed(why) => CycleOutcome::Failed(why),
            Found::Rejected(rejected) => {
                let fit_error = Arc::new(self.fit_error(&rejected, say));
                // Where the next search starts follows from how many nodes this one had.
                let is_counted =
                    sampling::is_asked_for(self.profile) && !rejected.narrowed_by.is_empty();
                if matches!(say, Say::Nothing) && !is_counted {
                    self.shape.remember(&fit_error, self.question.pod, self.cluster);
                }
                CycleOutcome::Rejected(fit_error)
            }
        }
    }

    fn fit_error(&mut self, rejected: &Rejected, say: Say<'_>) -> FitError {
        let (meter, stopwatch) = (self.meter, self.stages.stopwatch());
        let kept_back_by = self.kept_back_by(rejected);
        let began_ns = stopwatch.elapsed_ns();
        let mut ended_ns = began_ns;
        let fit_error = self.with_candidate_memo(rejected, |unplaced, memo| {
            meter.begin();
            let room = post_filter::run(unplaced, say.trimmed(), memo);
            ended_ns = stopwatch.elapsed_ns();
            if unplaced.profile.preemption.is_some() {
                meter.at(0).whole(Point::PostFilter, || room.status());
            }
            FitError::of(unplaced, kept_back_by, room)
        });
        let is_asked = self.profile.preemption.is_some();
        if is_asked || self.profile.dynamic_resources().is_some() {
            let took_ns = ended_ns.saturating_sub(began_ns);
            self.stages.end_within(Point::PostFilter, fit_error.room.status(), took_ns);
        }
        fit_error
    }

    fn kept_back_by(&self, rejected: &Rejected) -> Vec<usize> {
        let (shape, stores, cluster) = (&*self.shape, &*self.stores, self.cluster);
        new_node::kept_back_by(rejected, self.profile, cluster, |position, node| {
            shape.filter(position, stores).is_some_and(|column| column.rejects(node, cluster))
        })
    }

    /// Nodes on which room can be made, if none of those that extenders kept will do.
    pub(super) fn candidates(&mut self, extended: &Extended) -> Vec<Arc<Candidate>> {
        match self.choose_kept(extended) {
            Some(Found::Rejected(rejected)) => {
                self.with_candidate_memo(&rejected, post_filter::candidates)
            }
            _ => Vec::new(),
        }
    }

    fn with_candidate_memo<T>(
        &mut self,
        rejected: &Rejected,
        work: impl FnOnce(Unplaced<'_>, &mut CandidateMemo) -> T,
    ) -> T {
        let (question, profile) = (self.question, self.profile);
        self.shape.with_candidate_memo(question, profile, rejected, self.cluster, self.stores, work)
    }

    pub(super) fn failed(&mut self, failure: &NodeRejection) -> Found {
        self.stages.end(Point::Filter, StatusCode::Error);
        let prepared = self.shape.prepared(self.stores);
        let status = failure.full_status(&prepared, self.cluster);
        Found::Failed(filter_failure(self.profile, failure.filter, status.as_deref()))
    }
}

impl<M> Run<'_, M> {
    /// It is known what comes of the stages.
    pub(super) fn end_known(&mut self, fit_error: &FitError) {
        match fit_error.before_nodes {
            Some(rejection) => self.stages.end(Point::PreFilter, rejection.into()),
            None => {
                self.stages.end(Point::PreFilter, StatusCode::Success);
                self.stages.end(Point::Filter, StatusCode::Success);
            }
        }
    }
}

/// The failure of the node that is first by name.
fn first_failure<'a>(
    rejections: impl IntoIterator<Item = &'a NodeRejection>,
    cluster: &Cluster,
) -> Option<&'a NodeRejection> {
    let failures = rejections.into_iter().filter(|node| node.code.is_failure());
    failures.min_by_key(|failure| cluster.nodes().rank_of(failure.slot))
}
