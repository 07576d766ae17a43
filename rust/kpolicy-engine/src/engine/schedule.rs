//! Deciding on pods, one after the other, each seeing the ones before it.

use std::sync::Arc;

use crate::api::{Batch, Decision, Stopwatch, Verdict};
use crate::cycle::post_filter::{self, Room};
use crate::cycle::{Outcome, PreparedFilters, Question, Rejected, behind};
use crate::message::{self, NO_NODES};
use crate::preemption::Asked;
use crate::program::Program;
use crate::rules::{Stage, scheduling_gates};
use crate::snapshot::{Cluster, NodeSlot, Pod};

use super::Engine;

/// Why a pod was parked, in full.
struct Refusal {
    message: String,
    rejected_by: Vec<Arc<str>>,
    /// Positions of the rejecting filters.
    rules: Vec<usize>,
    room: Room,
}

impl Engine {
    /// Decides and assumes these pods in order.
    pub fn schedule(&mut self, uids: &[Arc<str>], _: i64, stopwatch: &dyn Stopwatch) -> Batch {
        self.cluster.settle_order();
        let decisions = uids.iter().map(|uid| self.decide(uid, stopwatch)).collect();
        Batch {
            program_hash: Arc::clone(&self.program.hash),
            resource_version: Arc::clone(&self.resource_version),
            decisions,
        }
    }

    fn decide(&mut self, uid: &Arc<str>, stopwatch: &dyn Stopwatch) -> Decision {
        let Some(pod) = self.pending_pod(uid) else { return self.unknown(uid) };
        let Some(profile) = self.program.profile_of(&pod.template.scheduler_name) else {
            return self.decision(&pod, Verdict::Gone);
        };
        self.parked.remove(uid);
        if let Some(status) = scheduling_gates::gate(&pod) {
            let mut decision = self.decision(&pod, Verdict::Gated);
            decision.message = status.message().into();
            decision.rejected_by = vec![scheduling_gates::NAME.into()];
            return decision;
        }
        if self.cluster.nodes().is_empty() {
            self.decisions += 1;
            let mut decision = self.decision(&pod, Verdict::Parked);
            decision.message = NO_NODES.into();
            self.parked.park(&pod, profile, &[], &self.program, &decision.message);
            return decision;
        }
        self.judge(&pod, profile, stopwatch)
    }

    fn judge(&mut self, pod: &Arc<Pod>, profile: usize, stopwatch: &dyn Stopwatch) -> Decision {
        let question = Question { pod, program: &self.program, profile, tie: self.tie() };
        self.decisions += 1;
        let cluster = &self.cluster;
        let make_room = |rejected: &Rejected, prepared: &PreparedFilters<'_>| {
            refuse(question, rejected, prepared, cluster)
        };
        let (timed, refusal) = self.cycle.decide(question, cluster, stopwatch, make_room);
        let mut decision = match (timed.outcome, refusal) {
            (Outcome::Chosen { slot, total, feasible }, _) => {
                self.placed(pod, profile, slot, total, feasible)
            }
            (Outcome::Rejected(_), Some(refusal)) => self.parked(pod, profile, refusal),
            (Outcome::Failed(why), _) => {
                let mut decision = self.decision(pod, Verdict::Failed);
                decision.message = why.into();
                decision
            }
            (Outcome::Rejected(_), None) => self.decision(pod, Verdict::Failed),
        };
        decision.filter_ns = timed.filter_ns;
        decision.score_ns = timed.score_ns;
        decision
    }

    /// Asks the rules that only count whether they would have rejected the chosen node.
    fn audit(&self, pod: &Arc<Pod>, profile: usize, slot: NodeSlot) {
        let Some(profile) = self.program.profiles.get(profile) else { return };
        let Some(view) = self.cluster.nodes().view(slot) else { return };
        for (audit, counts) in &profile.audits {
            let prepared = audit.rule.prepare(pod, &self.cluster);
            let rejects = prepared.is_some_and(|prepared| match prepared.stage() {
                Stage::Skip => false,
                Stage::Reject(_) => true,
                Stage::Check => !prepared.check(&self.cluster, view).passes(),
            });
            if rejects {
                counts.count_audited();
            }
        }
    }

    fn placed(
        &mut self,
        pod: &Arc<Pod>,
        profile: usize,
        slot: NodeSlot,
        total: i64,
        feasible: usize,
    ) -> Decision {
        let mut decision = self.decision(pod, Verdict::Placed);
        decision.score = total;
        decision.nodes_feasible = feasible;
        if let Some(view) = self.cluster.nodes().view(slot) {
            decision.node = Arc::clone(&view.node.name);
        }
        self.audit(pod, profile, slot);
        self.cluster.assume(&pod.uid, slot);
        decision
    }

    fn parked(&mut self, pod: &Arc<Pod>, profile: usize, refusal: Refusal) -> Decision {
        let mut decision = self.decision(pod, Verdict::Parked);
        decision.message = refusal.message.into();
        decision.rejected_by = refusal.rejected_by;
        decision.victims = refusal.room.victims;
        let nominated = refusal.room.nominated.and_then(|slot| self.cluster.nodes().view(slot));
        if let Some(view) = nominated {
            decision.nominated_node = Arc::clone(&view.node.name);
        }
        if refusal.room.is_tried {
            self.nominate(pod, &decision.nominated_node);
        } else if let Some(node) = self.cluster.nominations().node_of(&pod.uid) {
            decision.nominated_node = Arc::clone(node);
        }
        self.parked.park(pod, profile, &refusal.rules, &self.program, &decision.message);
        decision
    }

    /// Clause: pods of lower priority lose their claim to the node.
    fn nominate(&mut self, pod: &Arc<Pod>, node: &Arc<str>) {
        for uid in behind(pod, node, &self.program, &self.cluster) {
            self.cluster.nominate(&uid, &self.empty);
        }
        self.cluster.nominate(&pod.uid, node);
    }

    /// The pod, if it is there and waits.
    fn pending_pod(&self, uid: &str) -> Option<Arc<Pod>> {
        let entry = self.cluster.pods().get(uid)?;
        let waits = entry.node().is_none() && !entry.pod.is_terminating;
        waits.then(|| Arc::clone(&entry.pod))
    }

    fn decision(&self, pod: &Pod, verdict: Verdict) -> Decision {
        Decision {
            verdict,
            uid: Arc::clone(&pod.uid),
            namespace: Arc::clone(pod.namespace()),
            name: Arc::clone(&pod.name),
            node: Arc::clone(&self.empty),
            message: Arc::clone(&self.empty),
            score: 0,
            nodes_total: self.cluster.nodes().len(),
            nodes_feasible: 0,
            filter_ns: 0,
            score_ns: 0,
            nominated_node: Arc::clone(&self.empty),
            victims: Vec::new(),
            rejected_by: Vec::new(),
        }
    }

    fn unknown(&mut self, uid: &Arc<str>) -> Decision {
        self.parked.remove(uid);
        match self.cluster.pods().get(uid) {
            Some(entry) => self.decision(&Arc::clone(&entry.pod), Verdict::Gone),
            None => Decision {
                verdict: Verdict::Gone,
                uid: Arc::clone(uid),
                namespace: Arc::clone(&self.empty),
                name: Arc::clone(&self.empty),
                node: Arc::clone(&self.empty),
                message: Arc::clone(&self.empty),
                score: 0,
                nodes_total: self.cluster.nodes().len(),
                nodes_feasible: 0,
                filter_ns: 0,
                score_ns: 0,
                nominated_node: Arc::clone(&self.empty),
                victims: Vec::new(),
                rejected_by: Vec::new(),
            },
        }
    }
}

/// Works out what the user reads of a pod that fits nowhere, and whether room can be made.
fn refuse(
    question: Question<'_>,
    rejected: &Rejected,
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
) -> Refusal {
    let program: &Program = question.program;
    let Some(profile) = program.profiles.get(question.profile) else {
        return Refusal {
            message: String::new(),
            rejected_by: Vec::new(),
            rules: Vec::new(),
            room: Room::default(),
        };
    };
    let room = post_filter::run(Asked { question, profile, rejected, prepared, cluster });
    let before = rejected.pre_filter.as_ref().map(|(_, status)| status.message());
    let histogram = match before {
        Some(_) => message::Histogram::default(),
        None => rejected.histogram(profile, prepared, cluster),
    };
    let text = message::fit_error(
        cluster.nodes().len(),
        before.as_deref().unwrap_or_default(),
        &histogram,
        &room.message,
    );
    Refusal {
        message: text,
        rejected_by: rejected.rejected_by(profile),
        rules: rejected.rules(),
        room,
    }
}
