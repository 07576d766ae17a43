//! Counts of what occurred in worlds: decisions, changes, wakes, and the rules that rejected pods.

use std::collections::BTreeMap;

/// How often each thing occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub worlds: usize,
    pub steps: usize,
    pub decisions: usize,
    pub placed: usize,
    pub parked: usize,
    pub failed: usize,
    pub preempting: usize,
    pub displacing: usize,
    pub in_two_steps: usize,
    pub in_batches: usize,
    pub promised: usize,
    pub rebuilt: usize,
    /// Decisions for which each node was asked, as their answers could not be kept.
    pub uncached: usize,
    pub listed_for_paths: usize,
    /// Parked pods that were looked at after a change, and those of them that could be placed and wait for
    /// the API server to confirm a decision.
    pub parked_checked: usize,
    pub parked_excused: usize,
    pub woken: usize,
    /// Woken pods that a decision right then would have parked again.
    pub woken_in_vain: usize,
    /// How often each change and wake occurred, and how often each rule, and a rule that reads each fact,
    /// was among those because of which a pod was parked.
    pub counts: BTreeMap<(&'static str, String), usize>,
}

impl Seen {
    pub(crate) fn count(&mut self, what: &'static str, name: &str) {
        *self.counts.entry((what, name.to_owned())).or_default() += 1;
    }

    pub(crate) fn counted(&self, what: &'static str, name: &str) -> usize {
        self.counts.get(&(what, name.to_owned())).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.steps += other.steps;
        self.decisions += other.decisions;
        self.placed += other.placed;
        self.parked += other.parked;
        self.failed += other.failed;
        self.preempting += other.preempting;
        self.displacing += other.displacing;
        self.in_two_steps += other.in_two_steps;
        self.in_batches += other.in_batches;
        self.promised += other.promised;
        self.rebuilt += other.rebuilt;
        self.uncached += other.uncached;
        self.listed_for_paths += other.listed_for_paths;
        self.parked_checked += other.parked_checked;
        self.parked_excused += other.parked_excused;
        self.woken += other.woken;
        self.woken_in_vain += other.woken_in_vain;
        for (what, count) in &other.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
    }
}
