//! The shapes of the program in force, within a bound of memory.
//!
//! Finds the shape of a pod. When the shapes hold too much, those that were used longest ago are
//! dropped. This costs time and never changes a result.

use rustc_hash::FxHashMap;

use crate::program::Profile;
use crate::rules::Key;
use crate::snapshot::{Cluster, Pod};
use crate::timing::Meter;

use super::context::Context;
use super::filter_answers::FilterColumn;
use super::score_answers::ScoreColumn;
use super::shape::{Shape, Stores};
use super::store::ColumnId;
use super::totals::Totals;

/// What columns and totals of shapes may hold together.
pub(super) const CACHE_BYTES_MAX: usize = 96 * 1024 * 1024;
/// At most this many shapes, however small.
pub(super) const SHAPES_MAX: usize = 4096;

/// A shape that no pod had in so many decisions is dropped: its pods are most likely gone.
const IDLE_DECISIONS_MAX: u64 = 65_536;
/// How often idle shapes are looked for, in decisions.
const SWEEP_EVERY: u64 = 4_096;

/// What a new shape is assumed to hold for each node, with columns of its own.
const BYTES_PER_NODE: usize = 24;

#[derive(Debug)]
struct Entry {
    shape: Shape,
    key: Box<[u64]>,
    used_at: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Shapes {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    by_key: FxHashMap<Box<[u64]>, usize>,
    pub stores: Stores,
    bytes: usize,
    clock: u64,
    pub hits: u64,
    pub misses: u64,
}

/// Where the key of each rule ends in the key of the shape.
#[derive(Debug, Default)]
pub(super) struct ShapeKey {
    key: Key,
    ends: Vec<usize>,
}

impl ShapeKey {
    /// The key of a pod: profile, then each rule's part, each with its length so that none runs into
    /// the next; last what decides who may be evicted for it.
    pub(super) fn set(&mut self, position: usize, profile: &Profile, pod: &Pod) {
        self.key.clear();
        self.ends.clear();
        self.key.push(position as u64);
        self.ends.push(self.key.len());
        for filter in &profile.filters {
            filter.key(pod, &mut self.key);
            self.end();
        }
        for score in &profile.scores {
            score.key(pod, &mut self.key);
            self.end();
        }
        if let Some(victims) = profile.victims() {
            victims.key(pod, &mut self.key);
            self.end();
        }
    }

    fn end(&mut self) {
        let start = self.ends.last().copied().unwrap_or(0);
        self.key.push((self.key.len() - start) as u64);
        self.ends.push(self.key.len());
    }

    /// The part of one rule, filters first.
    fn part(&self, rule: usize) -> &[u64] {
        let start = self.ends.get(rule).copied().unwrap_or(0);
        let end = self.ends.get(rule + 1).copied().unwrap_or(start);
        self.key.parts().get(start..end).unwrap_or_default()
    }
}

impl Shapes {
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// What shapes and columns hold together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.stores.filters.bytes() + self.stores.scores.columns.bytes()
    }

    pub(super) fn columns(&self) -> usize {
        self.stores.filters.len() + self.stores.scores.columns.len()
    }

    /// The place of the pod's shape; made if it is not there.
    pub(super) fn find<M: Meter>(&mut self, key: &ShapeKey, context: Context<'_, M>) -> usize {
        self.clock += 1;
        if self.clock.is_multiple_of(SWEEP_EVERY) {
            self.drop_idle();
        }
        if let Some(&id) = self.by_key.get(key.key.parts()) {
            self.hits += 1;
            if let Some(Some(entry)) = self.entries.get_mut(id) {
                entry.used_at = self.clock;
            }
            return id;
        }
        self.misses += 1;
        self.make_room(context.cluster);
        let shape = self.make(key, context);
        let key: Box<[u64]> = key.key.parts().into();
        let entry = Entry { shape, key: key.clone(), used_at: self.clock, bytes: 0 };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.entries.push(None);
                self.entries.len() - 1
            }
        };
        if let Some(place) = self.entries.get_mut(id) {
            *place = Some(entry);
        }
        self.by_key.insert(key, id);
        id
    }

    fn make<M: Meter>(&mut self, key: &ShapeKey, context: Context<'_, M>) -> Shape {
        let profile = context.profile;
        let mut column_key: Vec<u64> = Vec::new();
        let profile_part = key.key.parts().first().copied().unwrap_or(0);
        let mut key_of = |rule: usize| {
            column_key.clear();
            column_key.extend([profile_part, rule as u64]);
            column_key.extend_from_slice(key.part(rule));
            column_key.clone()
        };
        let mut filters: Vec<ColumnId> = Vec::with_capacity(profile.filters.len());
        for (position, rule) in profile.filters.iter().enumerate() {
            let new = || FilterColumn::new(rule, context.at(position));
            filters.push(self.stores.filters.claim(&key_of(position), new));
        }
        let mut scores: Vec<ColumnId> = Vec::with_capacity(profile.scores.len());
        for (position, rule) in profile.scores.iter().enumerate() {
            let key = key_of(profile.filters.len() + position);
            let new = || ScoreColumn::new(rule, context.at(position));
            scores.push(self.stores.scores.columns.claim(&key, new));
        }
        Shape::new(filters, Totals::new(scores, profile))
    }

    pub(super) fn shape_and_stores(&mut self, id: usize) -> Option<(&mut Shape, &mut Stores)> {
        let entry = self.entries.get_mut(id)?.as_mut()?;
        Some((&mut entry.shape, &mut self.stores))
    }

    /// Takes account of what a shape and its columns hold, once they were worked out.
    pub(super) fn weigh(&mut self, id: usize) {
        let Some(Some(entry)) = self.entries.get_mut(id) else { return };
        entry.shape.weigh_columns(&mut self.stores);
        let bytes = entry.shape.bytes() + size_of::<Entry>() + 2 * size_of_val(&*entry.key);
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
    }

    fn make_room(&mut self, cluster: &Cluster) {
        let next = cluster.nodes().slots() * BYTES_PER_NODE;
        if self.len() < SHAPES_MAX && self.bytes() + next <= CACHE_BYTES_MAX {
            return;
        }
        let mut by_age: Vec<(u64, usize)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(id, entry)| Some((entry.as_ref()?.used_at, id)))
            .collect();
        by_age.sort_unstable();
        // A quarter at once, so that this is not done for every new shape.
        let count = (by_age.len() / 4).max(1);
        by_age.into_iter().take(count).for_each(|(_, id)| self.drop_shape(id));
    }

    fn drop_idle(&mut self) {
        let oldest = self.clock.saturating_sub(IDLE_DECISIONS_MAX);
        for id in 0..self.entries.len() {
            let entry = self.entries.get(id).and_then(Option::as_ref);
            if entry.is_some_and(|entry| entry.used_at < oldest) {
                self.drop_shape(id);
            }
        }
    }

    fn drop_shape(&mut self, id: usize) {
        if let Some(entry) = self.entries.get_mut(id).and_then(Option::take) {
            self.by_key.remove(&entry.key);
            self.bytes = self.bytes.saturating_sub(entry.bytes);
            self.free.push(id);
            entry.shape.release(&mut self.stores);
        }
    }
}
