//! Decides again about pods that are on nodes, each as if it were not there. Nothing comes of it.
//!
//! These decisions are counted apart, and so is where sampling stands: the next decision about a
//! pending pod is as if nobody had asked.

use std::mem;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api::{Decision, Still};
use crate::cycle::{self, Sampling};

use super::Engine;
use super::prospects::Left;

/// Where the decisions that are made again stand.
#[derive(Debug, Default)]
pub(super) struct Again {
    decisions: u64,
    sampling: Sampling,
}

/// When a pod is decided about.
struct Turn<'a> {
    position: usize,
    uid: &'a Arc<str>,
    /// Of the decision, after those before this call.
    number: u64,
    /// The position of the first pod that rules answer alike.
    alike: usize,
}

impl Engine {
    /// Decides about these pods, of which each is pending and the others are where they are. A pod
    /// that is on no node is gone.
    pub fn decide_again(&mut self, uids: &[Arc<str>], now_ns: i64) -> Vec<Decision> {
        self.set_time(now_ns);
        self.cluster.settle_order();
        self.exchange();
        let first = self.decisions;
        let mut turns = self.turns(uids);
        // Nothing comes of a decision, so that their order is free: pods alike follow each other.
        turns.sort_by_key(|turn| turn.alike);
        let mut decided: Vec<(usize, Decision)> = Vec::with_capacity(uids.len());
        let mut last = first;
        for turn in turns {
            self.decisions = first + turn.number;
            decided.push((turn.position, self.decided_again(turn.uid)));
            last = last.max(self.decisions);
        }
        self.decisions = last;
        self.exchange();
        decided.sort_unstable_by_key(|(position, _)| *position);
        decided.into_iter().map(|(_, decision)| decision).collect()
    }

    /// In the order of the pods; pods that are not judged have no number of their own.
    fn turns<'a>(&mut self, uids: &'a [Arc<str>]) -> Vec<Turn<'a>> {
        let mut numbers = 0;
        let mut known: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
        let mut turns = Vec::with_capacity(uids.len());
        for (position, uid) in uids.iter().enumerate() {
            let mut turn = Turn { position, uid, number: numbers, alike: position };
            if let Some(lifted) = self.cluster.lift_as_pending(uid) {
                if let Ok(ready) = self.ready(uid) {
                    numbers += 1;
                    let profile = self.program.profiles.get(ready.profile);
                    // A search for some of the nodes begins where the last one ended.
                    if let Some(profile) = profile.filter(|own| !cycle::is_sampled(own)) {
                        let key = cycle::key_of(ready.profile, profile, &ready.pod, &self.cluster);
                        turn.alike = *known.entry(key).or_insert(position);
                    }
                }
                self.cluster.put_back(lifted);
            }
            turns.push(turn);
        }
        turns
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
