//! No wake is lost: after every change, a parked pod that a decision from scratch would place has
//! been woken.
//!
//! Parked pods are known from decisions and wakes alone, as the engine's caller knows them.
//! Decisions wake nothing until the API server confirms them. So a pod is excused while a decision
//! made since it was parked could be what makes room for it, until the API server has shown the
//! result of that decision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kpolicy_engine::api::{Decision, Verdict, Wake};
use kpolicy_engine::snapshot::PodEntry;

use crate::run::{Agreed, Fault, Run};

const NANOSECONDS: i64 = 1_000_000_000;
/// 2026-03-29T00:00:00Z: clocks in Europe are put forward that night.
pub(crate) const BEGINS_NS: i64 = 1_774_742_400 * NANOSECONDS;

/// By uid of the parked pod: the pods by whose decisions it may be placeable.
#[derive(Debug, Default)]
pub(crate) struct Parked(BTreeMap<String, BTreeSet<String>>);

impl Parked {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn note(&mut self, decision: &Decision) {
        let uid = decision.uid.to_string();
        match decision.verdict {
            Verdict::Parked | Verdict::NotReady => self.0.insert(uid, BTreeSet::new()),
            _ => self.0.remove(&uid),
        };
    }

    /// The API server showed what became of a pod.
    pub(crate) fn confirm(&mut self, uid: &str) {
        self.0.values_mut().for_each(|excuses| {
            excuses.remove(uid);
        });
    }

    fn wake(&mut self, uid: &str) -> bool {
        self.0.remove(uid).is_some()
    }
}

impl Run<'_> {
    /// Time passes; after the first part of it a call other than that for wakes tells of it.
    pub(crate) fn pass(&mut self, first: i64, more: i64) {
        self.now_ns += first * NANOSECONDS;
        self.engine.set_time(self.now_ns);
        self.twin.set_time(self.now_ns);
        self.now_ns += more * NANOSECONDS;
        self.twin.set_time(self.now_ns);
        let (wakes, next_ns) = self.engine.pass_time(self.now_ns);
        assert!(next_ns.is_none_or(|next_ns| next_ns > self.now_ns), "{next_ns:?}");
        self.seen.count("change", "time passes");
        self.hear(&wakes);
    }

    /// The wakes of a change. Whether one led to anything is counted.
    pub(crate) fn hear(&mut self, wakes: &[Wake]) {
        for wake in wakes {
            if self.fault == Fault::LosesWakes && wake.event.starts_with("NodeUpdate") {
                continue;
            }
            if self.parked.wake(&wake.uid) {
                self.seen.count("wake", wake.event);
                let is_useful = self.verdict_of(&wake.uid) == Verdict::Placed;
                self.seen.woken += 1;
                self.seen.woken_in_vain += usize::from(!is_useful);
            }
        }
    }

    fn verdict_of(&mut self, uid: &str) -> Verdict {
        self.engine.decide_from_scratch(&Arc::from(uid)).verdict
    }

    /// After a change: whoever can be placed has been woken.
    pub(crate) fn nobody_is_forgotten(&mut self) -> Agreed {
        for uid in self.parked.0.keys().cloned().collect::<Vec<_>>() {
            match self.verdict_of(&uid) {
                Verdict::Placed if self.parked.0.get(&uid).is_some_and(BTreeSet::is_empty) => {
                    let why = self.engine.message(&uid);
                    return Err(format!(
                        "{uid} could be placed and was not woken, parked for: {why}"
                    ));
                }
                Verdict::Placed => self.seen.parked_excused += 1,
                Verdict::Gone => {
                    self.parked.wake(&uid);
                }
                _ => self.keep_assumed(&uid, &[]),
            }
            self.seen.parked_checked += 1;
        }
        Ok(())
    }

    /// One rule of several may have come to accept it by a decision: placements that are not confirmed
    /// stay its excuse.
    fn keep_assumed(&mut self, uid: &str, decided: &[&str]) {
        let pods = self.engine.cluster().pods();
        let is_assumed = |uid: &str| pods.get(uid).is_some_and(PodEntry::is_assumed);
        if let Some(excuses) = self.parked.0.get_mut(uid) {
            excuses.retain(|decided| is_assumed(decided));
            let new = decided.iter().filter(|decided| is_assumed(decided));
            excuses.extend(new.map(ToString::to_string));
        }
    }

    /// After decisions: whoever can be placed now is excused until these are confirmed.
    pub(crate) fn excuse(&mut self, decided: &[&str]) {
        for uid in self.parked.0.keys().cloned().collect::<Vec<_>>() {
            if self.verdict_of(&uid) != Verdict::Placed {
                self.keep_assumed(&uid, decided);
            } else if let Some(excuses) = self.parked.0.get_mut(&uid) {
                excuses.extend(decided.iter().map(ToString::to_string));
            }
        }
    }
}
