//! Decides pods one after the other; each sees the placements before it.

use std::sync::Arc;

use crate::api::{Batch, Decision, PreBindWrite, Stopwatch, Verdict};
use crate::cycle::{CycleOutcome, FitError, Timed, Watched, reference};
use crate::judging::{Question, behind};
use crate::parked::ParkedFor;
use crate::program::Profile;
use crate::rules::decision_work::work_per_call;
use crate::rules::{Reservation, Stage, dynamic_resources, scheduling_gates};
use crate::snapshot::{Cluster, NodeSlot, Pod};
use crate::timing::{Lasted, Unmetered};

use super::Engine;
use super::admission::{Barred, Ready, admission};
use super::prospects::Left;
use super::reservations::writes;

/// Why a pod is not judged, and the units that finding out took.
pub(super) struct NotReady {
    pub answer: Box<Decision>,
    pub units: u64,
    /// Whose claims on devices are waited for, with the position of its profile.
    waits: Option<(Arc<Pod>, usize)>,
}

impl Engine {
    /// Decides and assumes these pods in order, until that took [`work_per_call`]: the pods after the
    /// last decision are undecided, and nothing came of them. Of any pods one is decided.
    pub fn schedule(&mut self, uids: &[Arc<str>], now_ns: i64, stopwatch: &dyn Stopwatch) -> Batch {
        self.set_time(now_ns);
        self.cluster.settle_order();
        let units_max = work_per_call(self.cluster.nodes().len());
        let mut units = 0_u64;
        let mut decisions = Vec::with_capacity(uids.len());
        let mut left = uids;
        while let Some((uid, after)) = left.split_first()
            && units < units_max
        {
            let before = self.units_spent();
            let next = Left { uids: left, units: units_max - units };
            let (decision, own) = self.decide_counted(uid, next, stopwatch);
            self.cluster.came_back(uid);
            left = after;
            let while_judging = self.units_spent().saturating_sub(before);
            units = units.saturating_add(own).saturating_add(while_judging);
            decisions.push(decision);
        }
        Batch {
            program_hash: Arc::clone(&self.program.hash),
            resource_version: Arc::clone(&self.resource_version),
            decisions,
        }
    }

    /// What was charged so far while it was done: expressions, searches for victims, and for devices.
    fn units_spent(&self) -> u64 {
        let of_devices = self.cluster.units_of_devices();
        self.program.units_spent().saturating_add(of_devices)
    }

    pub(super) fn decide(&mut self, uid: &Arc<str>, stopwatch: &dyn Stopwatch) -> Decision {
        self.decide_counted(uid, Left::NONE, stopwatch).0
    }

    /// The decision, and the units that the pod's spec asks for. `left`: the pod and those after it.
    fn decide_counted(
        &mut self,
        uid: &Arc<str>,
        left: Left<'_>,
        stopwatch: &dyn Stopwatch,
    ) -> (Decision, u64) {
        self.parked.remove(uid);
        let ready = match self.admitted(uid) {
            Ok(ready) => ready,
            Err(not_ready) => {
                let units = not_ready.units;
                return (self.kept_out(not_ready), units);
            }
        };
        let timed = self.judge(&ready, left, stopwatch);
        let decision = self.carried_out(&ready.pod, ready.profile, &timed.outcome);
        (with_times(decision, &timed.lasted), ready.units)
    }

    /// The answer about a pod that is not judged. If it waits for its claims, it is parked.
    pub(super) fn kept_out(&mut self, not_ready: NotReady) -> Decision {
        let NotReady { answer, waits, .. } = not_ready;
        if let Some((pod, profile)) = waits {
            let own = self.program.profiles.get(profile);
            let rule = own.and_then(Profile::dynamic_resources);
            let (rules, message) = (rule.as_slice(), &answer.message);
            let why = ParkedFor { rules, is_helped: false, message };
            self.parked.park(&pod, profile, why, &self.program);
        }
        *answer
    }

    /// What becomes of a pod that is ready; nothing comes of it yet.
    pub(super) fn judge(
        &mut self,
        ready: &Ready,
        left: Left<'_>,
        stopwatch: &dyn Stopwatch,
    ) -> Timed<CycleOutcome> {
        let question = ready.question(&self.program, self.tie(), &self.threads);
        let profile = ready.profile;
        let sampled = self.decisions;
        self.decisions += 1;
        if self.cluster.nodes().is_empty() {
            let outcome = no_nodes(question, &self.cluster);
            return Timed { outcome, lasted: Lasted::default() };
        }
        let (program, cluster) = (&self.program, &self.cluster);
        let look_ahead = self.look_ahead;
        let upcoming = |columns| left.prospects(sampled, columns, look_ahead, program, cluster);
        let timed = match self.timings.tally(sampled, profile, stopwatch) {
            None => {
                let watched = Watched { stopwatch, meter: Unmetered };
                self.cycle.decide(question, cluster, watched, upcoming)
            }
            Some(tally) => {
                let watched = Watched { stopwatch, meter: tally.meter() };
                let timed = self.cycle.decide(question, cluster, watched, upcoming);
                self.timings.add_rules(profile, &tally);
                timed
            }
        };
        self.timings.add_stages(profile, &timed.lasted);
        timed
    }

    /// What [`Engine::schedule`] would answer for one pod, worked out with nothing kept from
    /// before; nothing comes of it.
    pub fn decide_from_scratch(&mut self, uid: &Arc<str>) -> Decision {
        self.cluster.settle_names();
        let ready = match self.ready(uid) {
            Ok(ready) => ready,
            Err(answer) => return *answer,
        };
        let question = ready.question(&self.program, self.tie(), &self.threads);
        if self.cluster.nodes().is_empty() {
            return self.decision_of(&ready.pod, &no_nodes(question, &self.cluster), &[]);
        }
        let outcome = reference::decide(question, &self.cluster, self.cycle.sampling());
        let reservations = self.reservations_of(&ready.pod, ready.profile, &outcome);
        self.decision_of(&ready.pod, &outcome, &reservations)
    }

    /// The pod, if it is to be judged; the answer otherwise.
    pub(super) fn ready(&self, uid: &Arc<str>) -> Result<Ready, Box<Decision>> {
        self.admitted(uid).map_err(|not_ready| not_ready.answer)
    }

    /// As [`Engine::ready`]. A pod that is set aside took only the reading of its spec.
    pub(super) fn admitted(&self, uid: &Arc<str>) -> Result<Ready, NotReady> {
        self.cluster.progress().beat();
        admission(uid, &self.program, &self.cluster).map_err(|barred| {
            let mut waits = None;
            let (answer, units) = match barred {
                Barred::NotPending => (self.unknown(uid), 0),
                Barred::Unserved(pod) => (self.decision(&pod, Verdict::Gone), 0),
                Barred::Gated(pod, status) => {
                    let mut decision = self.decision(&pod, Verdict::Gated);
                    decision.message = status.message().into();
                    decision.rejected_by = vec![scheduling_gates::NAME.into()];
                    (decision, 0)
                }
                Barred::Unclaimed(pod, profile, status) => {
                    let mut decision = self.decision(&pod, Verdict::NotReady);
                    decision.message = status.message().into();
                    decision.rejected_by = vec![dynamic_resources::NAME.into()];
                    waits = Some((pod, profile));
                    (decision, 0)
                }
                Barred::Excessive(pod, work) => {
                    let mut decision = self.decision(&pod, Verdict::SetAside);
                    decision.message = work.to_string().into();
                    (decision, work.entries())
                }
            };
            NotReady { answer: Box::new(answer), units, waits }
        })
    }

    /// The answer, and what follows from it in the snapshot and among the parked pods.
    pub(super) fn carried_out(
        &mut self,
        pod: &Arc<Pod>,
        profile: usize,
        outcome: &CycleOutcome,
    ) -> Decision {
        let reservations = self.reservations_of(pod, profile, outcome);
        let decision = self.decision_of(pod, outcome, &reservations);
        match outcome {
            CycleOutcome::Chosen { slot, .. } => {
                self.audit(pod, profile, *slot);
                self.place(pod, *slot, reservations);
            }
            // It is tried again by itself, ever more rarely: no event makes it cheaper.
            CycleOutcome::Rejected(fit_error) if fit_error.room.is_too_much => {}
            CycleOutcome::Rejected(fit_error) => {
                if fit_error.room.is_tried {
                    self.nominate(pod, &decision);
                }
                let why = ParkedFor {
                    rules: &fit_error.rules,
                    is_helped: decision.is_helped_by_node,
                    message: &decision.message,
                };
                self.parked.park(pod, profile, why, &self.program);
            }
            // kube-scheduler clears an earlier nomination when a cycle fails.
            CycleOutcome::Failed(_) => self.cluster.nominate(&pod.uid, &self.empty),
        }
        decision
    }

    /// What is answered, before anything comes of it.
    pub(super) fn decision_of(
        &self,
        pod: &Arc<Pod>,
        outcome: &CycleOutcome,
        reservations: &[Reservation],
    ) -> Decision {
        match outcome {
            CycleOutcome::Chosen { slot, total, feasible } => {
                let mut decision = self.decision(pod, Verdict::Placed);
                decision.score = *total;
                decision.nodes_feasible = *feasible;
                decision.node = self.name_of(Some(*slot));
                decision.writes = writes(reservations);
                decision
            }
            CycleOutcome::Rejected(fit_error) => self.rejected(pod, fit_error),
            CycleOutcome::Failed(failure) => {
                let mut decision = self.decision(pod, failure.verdict());
                decision.message = failure.why.as_str().into();
                decision
            }
        }
    }

    /// The decision about a pod that fits nowhere. Pods of lower priority lose their nomination to
    /// the node that is held for this pod, as in kube-scheduler.
    fn rejected(&self, pod: &Arc<Pod>, fit_error: &FitError) -> Decision {
        let verdict = if fit_error.room.is_too_much { Verdict::SetAside } else { Verdict::Parked };
        let mut decision = self.decision(pod, verdict);
        decision.message = Arc::clone(&fit_error.message);
        decision.rejected_by.clone_from(&fit_error.rejected_by);
        decision.is_helped_by_node = fit_error.kept_back_by.is_empty();
        decision.victims.clone_from(&fit_error.room.victims);
        decision.writes =
            fit_error.room.gives_up.iter().cloned().map(PreBindWrite::Release).collect();
        decision.nominated_node = self.name_of(fit_error.room.nominated);
        if fit_error.room.is_tried {
            let node = &decision.nominated_node;
            decision.displaced = behind(pod, node, &self.program, &self.cluster);
        } else if let Some(node) = self.cluster.nominations().node_of(&pod.uid) {
            decision.nominated_node = Arc::clone(node);
        }
        decision
    }

    /// Empty where there is none.
    pub(super) fn name_of(&self, slot: Option<NodeSlot>) -> Arc<str> {
        let view = slot.and_then(|slot| self.cluster.nodes().view(slot));
        view.map_or_else(|| Arc::clone(&self.empty), |view| Arc::clone(&view.node.name))
    }

    /// Asks the rules that only count whether they would have rejected the chosen node.
    fn audit(&self, pod: &Arc<Pod>, profile: usize, slot: NodeSlot) {
        let Some(profile) = self.program.profiles.get(profile) else { return };
        let Some(view) = self.cluster.nodes().view(slot) else { return };
        for (audit, counts) in &profile.audits {
            let prepared = audit.prepare(pod, &self.cluster);
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

    fn nominate(&mut self, pod: &Arc<Pod>, decision: &Decision) {
        for uid in &decision.displaced {
            self.cluster.nominate(uid, &self.empty);
        }
        self.cluster.nominate(&pod.uid, &decision.nominated_node);
    }

    pub(super) fn unknown(&self, uid: &Arc<str>) -> Decision {
        match self.cluster.pods().get(uid) {
            Some(entry) => self.decision(&entry.pod, Verdict::Gone),
            None => {
                let names = [uid, &self.empty, &self.empty].map(Arc::clone);
                self.decision_on(names, Verdict::Gone)
            }
        }
    }

    pub(super) fn decision(&self, pod: &Pod, verdict: Verdict) -> Decision {
        let names = [&pod.uid, &**pod.namespace(), &pod.name].map(Arc::clone);
        self.decision_on(names, verdict)
    }

    fn decision_on(&self, [uid, namespace, name]: [Arc<str>; 3], verdict: Verdict) -> Decision {
        Decision {
            verdict,
            uid,
            namespace,
            name,
            node: Arc::clone(&self.empty),
            message: Arc::clone(&self.empty),
            score: 0,
            nodes_total: self.cluster.nodes().len(),
            nodes_feasible: 0,
            filter_ns: 0,
            score_ns: 0,
            post_filter_ns: 0,
            nominated_node: Arc::clone(&self.empty),
            victims: Vec::new(),
            displaced: Vec::new(),
            rejected_by: Vec::new(),
            is_helped_by_node: true,
            writes: Vec::new(),
        }
    }
}

pub(super) fn with_times(decision: Decision, lasted: &Lasted) -> Decision {
    Decision {
        filter_ns: lasted.filter_ns(),
        score_ns: lasted.score_ns(),
        post_filter_ns: lasted.post_filter_ns(),
        ..decision
    }
}

pub(super) fn no_nodes(question: Question<'_>, cluster: &Cluster) -> CycleOutcome {
    CycleOutcome::Rejected(Arc::new(FitError::without_nodes(question, cluster)))
}
