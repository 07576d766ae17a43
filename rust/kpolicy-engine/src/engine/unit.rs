//! Units: pods that are placed together or not at all.
//!
//! If one pod of a unit cannot be placed, the others are removed from their nodes, and the
//! snapshot, the nominations and the parked pods are as before. Nothing is woken, since no pod
//! outside has seen the placements.

use std::sync::Arc;

use crate::api::{Decision, ScheduledUnit, Stopwatch, Verdict};
use crate::cycle::Outcome;

use super::Engine;
use super::schedule::with_times;

/// What is needed to take the placed pods of a unit back: each, and the node it was nominated to.
#[derive(Debug, Default)]
struct Checkpoint {
    placed: Vec<(Arc<str>, Option<Arc<str>>)>,
}

impl Engine {
    /// Decides and assumes these pods in order, each seeing the ones before it. If one of them cannot
    /// be placed, the answer is its decision, and nothing comes of the others.
    pub fn schedule_unit(
        &mut self,
        uids: &[Arc<str>],
        _: i64,
        stopwatch: &dyn Stopwatch,
    ) -> ScheduledUnit {
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
        let mut checkpoint = Checkpoint::default();
        let mut decisions = Vec::with_capacity(uids.len());
        for uid in uids {
            match self.place_in_unit(uid, &mut checkpoint, stopwatch) {
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
        stopwatch: &dyn Stopwatch,
    ) -> Result<Decision, Box<Decision>> {
        let (pod, profile) = self.ready(uid)?;
        let timed = self.judge(&pod, profile, stopwatch);
        let reservations = self.reservations_of(&pod, profile, &timed.outcome);
        let decision = self.decision_of(&pod, &timed.outcome, &reservations);
        let decision = with_times(decision, &timed.lasted);
        let Outcome::Chosen { slot, .. } = timed.outcome else {
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

    fn take_back(&mut self, checkpoint: Checkpoint) {
        for (uid, nominated) in checkpoint.placed.iter().rev() {
            self.cluster.forget(uid);
            let node = nominated.as_ref().unwrap_or(&self.empty);
            self.cluster.nominate(uid, node);
        }
    }
}
