//! Compares the decisions of another engine with what this program would have decided, and adopts
//! them.
//!
//! Only judges: nothing is nominated and no pod is parked. The pod is assumed on the node that the
//! other engine chose, even if this program would reject it. The decisions of the other engine must
//! come in their order, between the same changes of the cluster.

use std::sync::Arc;

use crate::api::{Acted, Opinion, Verdict};
use crate::cycle::{CycleOutcome, UNWATCHED, nobody};
use crate::judging::Tie;
use crate::snapshot::NodeSlot;

use super::Engine;
use super::admission::{Ready, pending_pod};
use super::schedule::no_nodes;

impl Engine {
    /// One for each decision of the other, in order.
    pub fn second_opinions(&mut self, acted: &[Acted]) -> Vec<Opinion> {
        self.cluster.settle_order();
        acted.iter().map(|one| self.second_opinion(one)).collect()
    }

    fn second_opinion(&mut self, acted: &Acted) -> Opinion {
        let slot = self.cluster.nodes().find(&acted.node);
        let ready = self.ready(&acted.uid);
        let opinion = match &ready {
            Ok(ready) => self.judged(ready, slot),
            Err(answer) => Opinion {
                verdict: answer.verdict,
                uid: Arc::clone(&acted.uid),
                node: Arc::clone(&self.empty),
                accepts: false,
            },
        };
        match (ready, slot) {
            (Ok(ready), Some(slot)) => {
                let reservations = self.reservations_on(&ready.pod, ready.profile, slot);
                self.place(&ready.pod, slot, reservations);
            }
            (Err(answer), Some(slot)) if pending_pod(&answer.uid, &self.cluster).is_some() => {
                self.cluster.assume(&acted.uid, slot, &[]);
            }
            _ => {}
        }
        opinion
    }

    fn judged(&mut self, ready: &Ready, acted: Option<NodeSlot>) -> Opinion {
        let tie = Tie { preferred: acted, ..self.tie() };
        let question = ready.question(&self.program, tie, &self.threads);
        self.decisions += 1;
        let outcome = match self.cluster.nodes().is_empty() {
            true => no_nodes(question, &self.cluster),
            false => self.cycle.decide(question, &self.cluster, UNWATCHED, nobody).outcome,
        };
        let (verdict, chosen) = match outcome {
            CycleOutcome::Chosen { slot, .. } => (Verdict::Placed, Some(slot)),
            CycleOutcome::Rejected(_) => (Verdict::Parked, None),
            CycleOutcome::Failed(failure) => (failure.verdict(), None),
        };
        let accepts = match acted {
            None => false,
            Some(_) if chosen.is_none() => false,
            Some(_) if chosen == acted => true,
            Some(slot) => {
                let filtered = self.cycle.filter(question, &self.cluster, UNWATCHED);
                filtered.outcome.contains(&slot)
            }
        };
        Opinion { verdict, uid: Arc::clone(&ready.pod.uid), node: self.name_of(chosen), accepts }
    }
}
