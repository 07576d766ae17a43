//! Units: pods that are placed together or not at all.
//!
//! If one pod of a unit cannot be placed, the others are removed from their nodes, and the
//! snapshot, the nominations and the parked pods are as before. Nothing is woken, since no pod
//! outside has seen the placements.

use std::sync::Arc;

use crate::api::{Decision, ScheduledUnit, Stopwatch, Verdict};
use crate::cycle::CycleOutcome;
use crate::rules::decision_work::work_per_call;
use crate::snapshot::Pod;

use super::Engine;
use super::prospects::Left;
use super::schedule::with_times;

/// What a pod like the one before it takes, of what the first takes: what its rules worked out is
/// kept and follows the pod that was placed.
const SHARE_OF_ALIKE: u64 = 20;

/// What is needed to take the placed pods of a unit back: each, and the node it was nominated to.
#[derive(Debug, Default)]
struct Checkpoint {
    placed: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// The pod that was judged last.
    last: Option<Arc<Pod>>,
    /// What the pods judged so far asked for.
    units: u64,
}

impl Engine {
    /// Decides and assumes these pods in order, each seeing the ones before it. If one of them cannot
    /// be placed, the answer is its decision, and nothing comes of the others. So it is where they
    /// take more work than a call may: the one that goes beyond is set aside, as a unit that is tried
    /// again takes no less.
    pub fn schedule_unit(
        &mut self,
        uids: &[Arc<str>],
        now_ns: i64,
        stopwatch: &dyn Stopwatch,
    ) -> ScheduledUnit {
        self.set_time(now_ns);
        ScheduledUnit {
            decided: self.place_unit(uids, stopwatch),
            program_hash: Arc::clone(&self.program.hash),
            resource_version: Arc::clone(&self.resource_version),
        }
    }

    fn place_unit(
        &mut self,
        uids: &[Arc<str>],
        stopwatch: &dyn Stopwatch,
    ) -> Result<Vec<Decision>, Box<Decision>> {
        self.cluster.settle_order();
        let units_max = work_per_call(self.cluster.nodes().len());
        let before = self.program.units_spent();
        let mut checkpoint = Checkpoint::default();
        let mut decisions = Vec::with_capacity(uids.len());
        for uid in uids {
            let spent = self.program.units_spent().saturating_sub(before);
            match self.place_in_unit(
                uid,
                &mut checkpoint,
                units_max.saturating_sub(spent),
                stopwatch,
            ) {
                Ok(decision) => decisions.push(decision),
                Err(decision) => {
                    self.take_back(checkpoint);
                    return Err(decision);
                }
            }
        }
        for uid in uids {
            self.parked.remove(uid);
        }
        Ok(decisions)
    }

    fn place_in_unit(
        &mut self,
        uid: &Arc<str>,
        checkpoint: &mut Checkpoint,
        units_left: u64,
        stopwatch: &dyn Stopwatch,
    ) -> Result<Decision, Box<Decision>> {
        let ready = self.ready(uid)?;
        let (pod, units) = (Arc::clone(&ready.pod), ready.units);
        let is_alike = checkpoint.last.as_ref().is_some_and(|last| last.asks_like(&pod));
        let units = if is_alike { units.div_ceil(SHARE_OF_ALIKE) } else { units };
        checkpoint.units = checkpoint.units.saturating_add(units);
        checkpoint.last = Some(Arc::clone(&pod));
        if checkpoint.units > units_left {
            return Err(self.too_much(&pod));
        }
        let timed = self.judge(&ready, Left::NONE, stopwatch);
        let reservations = self.reservations_of(&pod, ready.profile, &timed.outcome);
        let decision = self.decision_of(&pod, &timed.outcome, &reservations);
        let decision = with_times(decision, &timed.lasted);
        let CycleOutcome::Chosen { slot, .. } = timed.outcome else {
            // Victims for one pod are of no use while the placements of the others are withdrawn.
            return Err(Box::new(Decision {
                nominated_node: Arc::clone(&self.empty),
                victims: Vec::new(),
                displaced: Vec::new(),
                ..decision
            }));
        };
        debug_assert_eq!(decision.verdict, Verdict::Placed);
        let nominated = self.cluster.nominations().node_of(uid).cloned();
        checkpoint.placed.push((Arc::clone(uid), nominated));
        self.place(&pod, slot, reservations);
        Ok(decision)
    }

    fn too_much(&self, pod: &Pod) -> Box<Decision> {
        let message = format!(
            "the pods that are to be placed together take more work than one call may: more than {} \
             units",
            work_per_call(self.cluster.nodes().len())
        );
        Box::new(Decision { message: message.into(), ..self.decision(pod, Verdict::SetAside) })
    }

    fn take_back(&mut self, checkpoint: Checkpoint) {
        for (uid, nominated) in checkpoint.placed.iter().rev() {
            self.cluster.forget(uid);
            let node = nominated.as_ref().unwrap_or(&self.empty);
            self.cluster.nominate(uid, node);
        }
    }
}
