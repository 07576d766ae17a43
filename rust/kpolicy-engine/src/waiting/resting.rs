//! Pods that were tried and are parked or back off. Nobody is to try them, but a hold may begin to hold them.
//!
//! They are groups as those that wait are. A group is asked about again only when something changed that
//! holds read, and in one call no more than [`UNITS_MAX`] is spent.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api::Entered;

use super::EVALUATION;
use super::group::{GroupKey, Rank, Standing};
use super::judged::Judge;
use super::listed::Listed;

/// What asking about resting pods may take in one call, in units; the others are asked about next time.
const UNITS_MAX: u64 = 500_000;

#[derive(Debug)]
struct Rested {
    group: usize,
    rank: Rank,
    entered: Entered,
}

#[derive(Debug, Default)]
pub(super) struct Resting {
    pods: FxHashMap<Arc<str>, Rested>,
    groups: Listed,
    /// Tenants whose groups are to be marked. A batch changes the sums of its tenants often, and their
    /// groups are looked through once for all of it.
    changed: BTreeSet<Arc<str>>,
}

impl Resting {
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    pub(super) fn add(&mut self, entered: Entered, key: GroupKey, rank: Rank) {
        let uid = Arc::clone(&entered.uid);
        let group = self.groups.add(key, rank, Arc::clone(&uid));
        self.pods.insert(uid, Rested { group, rank, entered });
    }

    pub(super) fn remove(&mut self, uid: &str) {
        self.take(uid);
    }

    pub(super) fn mark_all(&mut self) {
        self.groups.mark_all();
    }

    pub(super) fn mark_tenants(&mut self, tenants: Vec<Arc<str>>) {
        if !self.is_empty() {
            self.changed.extend(tenants);
        }
    }

    /// Whether groups are left to be asked about.
    pub(super) fn is_due(&self) -> bool {
        self.groups.first_due().is_some()
    }

    /// Asks about the groups that may be held now. The pods of those that are rest no longer; they are
    /// given in the order in which they came.
    pub(super) fn take_held(&mut self, judge: &Judge<'_>, call: u64) -> Vec<Entered> {
        for tenant in std::mem::take(&mut self.changed) {
            self.groups.mark_tenant(&tenant);
        }
        if !self.is_due() {
            return Vec::new();
        }
        let mut held = Vec::new();
        let usage = judge.cluster.usage();
        let settled = usage.and_then(|usage| usage.settled(judge.cluster.pods()));
        let mut units = 0;
        while units < UNITS_MAX
            && let Some(index) = self.groups.first_due()
            && let Some(group) = self.groups.get(index)
        {
            let first = group.first().and_then(|uid| self.pods.get(uid));
            let judged = first
                .and_then(|pod| judge.of_resting(&pod.entered, group.key.profile, settled.as_ref()))
                .unwrap_or_default();
            units += EVALUATION + judged.units;
            let members: Vec<Arc<str>> = match judged.standing {
                Standing::Held(..) => group.uids().cloned().collect(),
                Standing::Unknown | Standing::Ready(_) => Vec::new(),
            };
            self.groups.stand(index, Standing::Unknown, call);
            held.extend(members.iter().filter_map(|uid| self.take(uid)));
        }
        in_order(held)
    }

    /// All of them, in the order in which they came.
    pub(super) fn take_all(&mut self) -> Vec<Entered> {
        in_order(std::mem::take(self).pods.into_values().collect())
    }

    fn take(&mut self, uid: &str) -> Option<Rested> {
        let rested = self.pods.remove(uid)?;
        self.groups.remove(rested.group, rested.rank);
        Some(rested)
    }
}

fn in_order(mut pods: Vec<Rested>) -> Vec<Entered> {
    pods.sort_unstable_by_key(|pod| pod.rank.arrival);
    pods.into_iter().map(|pod| pod.entered).collect()
}
