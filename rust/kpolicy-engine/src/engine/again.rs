//! Decides again about pods that are on nodes, each as if it were not there. Nothing comes of it.
//!
//! These decisions are counted apart, and so is where sampling stands: the next decision about a
//! pending pod is as if nobody had asked.

use std::mem;
use std::sync::Arc;

use crate::api::{Decision, Still};
use crate::cycle::Sampling;

use super::Engine;
use super::prospects::Left;

/// Where the decisions that are made again stand.
#[derive(Debug, Default)]
pub(super) struct Again {
    decisions: u64,
    sampling: Sampling,
}

impl Engine {
    /// Decides about these pods, of which each is pending and the others are where they are. A pod
    /// that is on no node is gone.
    pub fn decide_again(&mut self, uids: &[Arc<str>], now_ns: i64) -> Vec<Decision> {
        self.set_time(now_ns);
        self.cluster.settle_order();
        self.exchange();
        let decisions = uids.iter().map(|uid| self.decided_again(uid)).collect();
        self.exchange();
        decisions
    }

    fn exchange(&mut self) {
        mem::swap(&mut self.decisions, &mut self.again.decisions);
        self.cycle.exchange_sampling(&mut self.again.sampling);
    }

    fn decided_again(&mut self, uid: &Arc<str>) -> Decision {
        let Some(lifted) = self.cluster.lift_as_pending(uid) else { return self.unknown(uid) };
        let decision = match self.ready(uid) {
            Ok(ready) => {
                let outcome = self.judge(&ready, Left::NONE, &Still).outcome;
                let reservations = self.reservations_of(&ready.pod, ready.profile, &outcome);
                self.decision_of(&ready.pod, &outcome, &reservations)
            }
            Err(answer) => *answer,
        };
        self.cluster.put_back(lifted);
        decision
    }
}
