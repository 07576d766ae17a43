//! The groups of waiting pods, by key, by tenant, in the order in which they are tried, by age, and those
//! that are to be evaluated again.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::rules::Fault;

use super::group::{Group, GroupKey, Place, Rank, Standing};

#[derive(Debug, Default)]
pub(super) struct Listed {
    groups: Vec<Option<Group>>,
    free: Vec<usize>,
    by_key: FxHashMap<GroupKey, usize>,
    of_tenant: FxHashMap<Arc<str>, BTreeSet<usize>>,
    ready: BTreeSet<(Place, usize)>,
    /// Groups that are to be tried, by when their oldest pod came.
    by_age: BTreeSet<(u64, usize)>,
    /// To be evaluated, those that were evaluated longest ago first.
    due: BTreeSet<(u64, usize)>,
    held: BTreeSet<usize>,
}

impl Listed {
    pub(super) fn get(&self, index: usize) -> Option<&Group> {
        self.groups.get(index)?.as_ref()
    }

    /// The first in the order.
    pub(super) fn first(&self) -> Option<usize> {
        self.ready.first().map(|(_, index)| *index)
    }

    /// When the oldest pod came, and its group.
    pub(super) fn oldest(&self) -> Option<(u64, usize)> {
        self.by_age.first().copied()
    }

    pub(super) fn first_due(&self) -> Option<usize> {
        self.due.first().map(|(_, index)| *index)
    }

    pub(super) fn are_any_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Puts a pod into its group.
    pub(super) fn add(&mut self, key: GroupKey, rank: Rank, uid: Arc<str>) -> usize {
        let index = match self.by_key.get(&key) {
            Some(index) => *index,
            None => self.begin(key),
        };
        self.change(index, |group| group.add(rank, uid));
        index
    }

    pub(super) fn remove(&mut self, index: usize, rank: Rank) {
        self.change(index, |group| group.remove(rank));
        if self.get(index).is_some_and(Group::is_empty) {
            self.end(index);
        }
    }

    /// What an evaluation failed with, if it did; says whether that is news.
    pub(super) fn fail(&mut self, index: usize, fault: Option<(Arc<str>, Fault)>) -> bool {
        let Some(Some(group)) = self.groups.get_mut(index) else { return false };
        let is_new = fault.is_some() && group.fault != fault;
        group.fault = fault;
        is_new
    }

    /// What an evaluation came to; returns what it was before.
    pub(super) fn stand(&mut self, index: usize, standing: Standing, call: u64) -> Standing {
        let mut before = Standing::Unknown;
        if let Some(Some(group)) = self.groups.get_mut(index) {
            self.due.remove(&(group.asked_at, index));
            group.is_due = false;
            group.asked_at = call;
        }
        if matches!(standing, Standing::Held(..)) {
            self.held.insert(index);
        } else {
            self.held.remove(&index);
        }
        self.change(index, |group| before = std::mem::replace(&mut group.standing, standing));
        before
    }

    /// A hold let the group go.
    pub(super) fn release(&mut self, index: usize, arrivals: u64) {
        self.change(index, |group| group.released = arrivals);
    }

    pub(super) fn mark_all(&mut self) {
        for index in 0..self.groups.len() {
            self.mark(index);
        }
    }

    pub(super) fn mark_tenant(&mut self, tenant: &str) {
        let own: Vec<usize> = self.of_tenant.get(tenant).into_iter().flatten().copied().collect();
        own.into_iter().for_each(|index| self.mark(index));
    }

    fn mark(&mut self, index: usize) {
        if let Some(Some(group)) = self.groups.get_mut(index)
            && !group.is_due
        {
            group.is_due = true;
            self.due.insert((group.asked_at, index));
        }
    }

    fn begin(&mut self, key: GroupKey) -> usize {
        let group = Group::new(key.clone());
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.groups.push(None);
                self.groups.len() - 1
            }
        };
        self.of_tenant.entry(Arc::clone(&key.tenant)).or_default().insert(index);
        self.by_key.insert(key, index);
        if let Some(place) = self.groups.get_mut(index) {
            *place = Some(group);
        }
        self.mark(index);
        index
    }

    fn end(&mut self, index: usize) {
        let Some(group) = self.groups.get_mut(index).and_then(Option::take) else { return };
        self.due.remove(&(group.asked_at, index));
        self.held.remove(&index);
        self.by_key.remove(&group.key);
        if let Some(own) = self.of_tenant.get_mut(&group.key.tenant) {
            own.remove(&index);
            if own.is_empty() {
                self.of_tenant.remove(&group.key.tenant);
            }
        }
        self.free.push(index);
    }

    /// Changes a group, and lists it where it is then.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Group)) {
        let Some(Some(group)) = self.groups.get_mut(index) else { return };
        change(group);
        let (place, age) = (group.place(), group.age());
        if group.listed != place {
            if let Some(old) = group.listed {
                self.ready.remove(&(old, index));
            }
            if let Some(new) = place {
                self.ready.insert((new, index));
            }
            group.listed = place;
        }
        if group.listed_age != age {
            if let Some(old) = group.listed_age {
                self.by_age.remove(&(old, index));
            }
            if let Some(new) = age {
                self.by_age.insert((new, index));
            }
            group.listed_age = age;
        }
    }
}
