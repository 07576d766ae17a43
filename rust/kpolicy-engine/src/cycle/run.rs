//! One decision: the stages in their order.

use crate::program::Profile;
use crate::snapshot::{Cluster, NodeSlot};

use super::nominated;
use super::sampling::Sampling;
use super::select::{choose, highest};
use super::shape::{Shape, Stores};
use super::stage::{self, Left};
use super::totals::INFEASIBLE;
use super::verdicts::{NodeRejection, PreparedFilters, Rejected};
use super::{Outcome, Question, filter_failure, pre_filter_failure};

/// One decision under way.
pub struct Run<'a> {
    pub question: Question<'a>,
    pub profile: &'a Profile,
    pub cluster: &'a Cluster,
    pub shape: &'a mut Shape,
    pub stores: &'a mut Stores,
    pub sampling: &'a mut Sampling,
}

impl Run<'_> {
    pub fn decide(&mut self, filtered: impl FnOnce()) -> Outcome {
        let (profile, cluster, pod) = (self.profile, self.cluster, self.question.pod.as_ref());
        self.shape.follow_filters(profile, pod, cluster, self.stores);
        let prepared = self.shape.prepared(self.stores);
        let left = match stage::before_nodes(profile, &prepared, cluster) {
            Ok(left) => left,
            Err(rejected) => {
                let failure = pre_filter_failure(profile, &rejected);
                return failure.map_or(Outcome::Rejected(rejected), Outcome::Failed);
            }
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
        // Clause: a single node is not scored.
        if slots.len() > 1
            && let Some(why) = self.shape.score_failure(profile, self.stores)
        {
            return Outcome::Failed(why);
        }
        match choose(slots, &totals, self.question.tie, cluster) {
            Some((slot, total)) => Outcome::Chosen { slot, total, feasible: slots.len() },
            None => Outcome::Failed("no node could be chosen".to_owned()),
        }
    }

    fn choose_among_all(&mut self) -> Outcome {
        let (profile, cluster, pod) = (self.profile, self.cluster, self.question.pod.as_ref());
        self.shape.update_totals(profile, pod, cluster, self.stores);
        if self.shape.feasible().count > 1
            && let Some(why) = self.shape.score_failure(profile, self.stores)
        {
            return Outcome::Failed(why);
        }
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
