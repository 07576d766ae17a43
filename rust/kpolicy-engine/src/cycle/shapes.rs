//! The shapes of the program in force, within a bound of memory.
//!
//! Finds the shape of a pod. When the shapes hold too much, those that were used longest ago are
//! dropped. This costs time and never changes a result.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::heap::{arc_bytes, flat_bytes, table_bytes};
use crate::program::Profile;
use crate::timing::Meter;

use super::ahead::AheadTimes;
use super::cache_bound::CacheBound;
use super::context::Context;
use super::filter_answers::FilterColumn;
use super::newcomers::{Newcomer, Newcomers};
use super::score_answers::ScoreColumn;
use super::shape::Shape;
use super::shape_key::ShapeKey;
use super::store::{ColumnId, several_mut};
use super::stores::Stores;
use super::totals::Totals;

/// Shapes that are made ahead together may hold this part of it, and so may the memory of dropped ones
/// that is kept for them.
const AHEAD_SHARE: usize = 4;
/// One shape in so many is dropped at once.
const DROPPED_PART: usize = 16;
/// At most this many shapes, however small.
const SHAPES_MAX: usize = 4096;

/// A shape that no pod had in so many decisions is dropped: its pods are most likely gone.
const IDLE_DECISIONS_MAX: u64 = 65_536;
/// How often idle shapes are looked for, in decisions.
const SWEEP_EVERY: u64 = 4_096;

#[derive(Debug)]
struct Entry {
    shape: Shape,
    key: Arc<[u64]>,
    used_at: u64,
    bytes: usize,
    /// Of parts of the pod that it was made for. What its rules keep of them stays while the shape does.
    pod_bytes: usize,
    /// It was made ahead, which took so long, and no decision used it so far.
    ahead: Option<AheadTimes>,
    /// One pod alone had it so far.
    newcomer: Option<Newcomer>,
}

/// A shape that is there for a decision, and what making it ahead took, if this is its first.
#[derive(Debug)]
pub(super) struct Found {
    pub(crate) id: usize,
    pub(crate) ahead: AheadTimes,
}

#[derive(Debug)]
pub(super) struct Shapes {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    by_key: FxHashMap<Arc<[u64]>, usize>,
    newcomers: Newcomers,
    pub stores: Stores,
    /// Of all shapes and their keys, without columns that are shared.
    bytes: usize,
    bound: CacheBound,
    /// The bound, for the nodes that there are.
    bytes_max: usize,
    clock: u64,
    pub hits: u64,
    pub misses: u64,
    /// How often there was no room for the columns of a shape.
    pub uncached: u64,
    /// What the largest of the shapes holds that were made ahead last.
    ahead_bytes: usize,
}

impl Default for Shapes {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            by_key: FxHashMap::default(),
            newcomers: Newcomers::default(),
            stores: Stores::default(),
            bytes: 0,
            bound: CacheBound::default(),
            bytes_max: CacheBound::default().bytes(0),
            clock: 0,
            hits: 0,
            misses: 0,
            uncached: 0,
            ahead_bytes: 0,
        }
    }
}

impl Shapes {
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// What shapes and columns hold together.
    pub(super) fn bytes(&self) -> usize {
        let places = self.entries.capacity() * size_of::<Option<Entry>>();
        let tables = flat_bytes(&self.free) + table_bytes(&self.by_key) + self.newcomers.bytes();
        self.bytes + places + tables + self.stores.bytes() + self.stores.spare.bytes()
    }

    /// What they would hold if no memory of dropped ones was kept.
    fn bytes_in_use(&self) -> usize {
        self.bytes() - self.stores.spare.bytes()
    }

    /// From now on no more is held than that.
    pub(super) fn limit(&mut self, bound: CacheBound) {
        self.bound = bound;
        self.bytes_max = bound.bytes(0);
        self.drop_others(None, 0);
    }

    /// There are places for so many nodes now.
    pub(super) fn follow(&mut self, slots: usize) {
        self.bytes_max = self.bound.bytes(slots);
        self.keep_spare();
    }

    /// Keeps of the memory of dropped shapes what shapes that are made ahead together may need, within the
    /// bound.
    fn keep_spare(&mut self) {
        let left = self.bytes_max.saturating_sub(self.bytes_in_use());
        self.stores.spare.limit(left.min(self.bytes_max / AHEAD_SHARE));
    }

    pub(super) fn columns(&self) -> usize {
        self.stores.filters.len() + self.stores.scores.columns.len()
    }

    /// The shape for a decision, if it is there.
    pub(super) fn find(&mut self, key: &ShapeKey) -> Option<Found> {
        self.clock += 1;
        if self.clock.is_multiple_of(SWEEP_EVERY) {
            self.drop_idle();
        }
        self.used(key)
    }

    fn used(&mut self, key: &ShapeKey) -> Option<Found> {
        let id = *self.by_key.get(key.parts())?;
        let entry = self.entries.get_mut(id)?.as_mut()?;
        entry.used_at = self.clock;
        let ahead = entry.ahead.take();
        if ahead.is_none() {
            self.hits += 1;
            entry.newcomer = None;
        }
        Some(Found { id, ahead: ahead.unwrap_or_default() })
    }

    /// After [`Shapes::find`] found nothing: the shape that was made since then, or is made now.
    pub(super) fn find_or_make<M: Meter>(
        &mut self,
        key: &ShapeKey,
        context: Context<'_, M>,
    ) -> Found {
        match self.used(key) {
            Some(found) => found,
            None => Found { id: self.add(key, context, None), ahead: AheadTimes::default() },
        }
    }

    pub(super) fn has(&self, key: &ShapeKey) -> bool {
        self.by_key.contains_key(key.parts())
    }

    /// How many columns of a shape are not there.
    pub(super) fn missing_columns(&self, key: &ShapeKey, profile: &Profile) -> usize {
        let filters = profile.filters.len();
        let is_filter_missing = |rule: &usize| !self.stores.filters.has(key.of_column(*rule));
        let is_score_missing = |rule: &usize| !self.stores.scores.columns.has(key.of_column(*rule));
        (0..filters).filter(is_filter_missing).count()
            + (filters..filters + profile.scores.len()).filter(is_score_missing).count()
    }

    /// The place of a shape that is not there yet.
    pub(super) fn add<M: Meter>(
        &mut self,
        key: &ShapeKey,
        context: Context<'_, M>,
        ahead: Option<AheadTimes>,
    ) -> usize {
        self.misses += 1;
        if self.len() >= SHAPES_MAX {
            self.drop_oldest(None);
        }
        let shape = self.make(key, context);
        let key: Arc<[u64]> = key.parts().into();
        let pod_bytes = context.pod.bytes_beyond_ordinary();
        let used_at = self.clock;
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.entries.push(None);
                self.entries.len() - 1
            }
        };
        let newcomer = self.newcomers.arrive(&key, id);
        let entry =
            Entry { shape, key: Arc::clone(&key), used_at, bytes: 0, pod_bytes, ahead, newcomer };
        if let Some(place) = self.entries.get_mut(id) {
            *place = Some(entry);
        }
        self.by_key.insert(key, id);
        self.drop_newcomers();
        id
    }

    /// Drops those that are too many. Until it is known what is needed, all of their memory may be kept.
    fn drop_newcomers(&mut self) {
        while let Some(newcomer) = self.newcomers.surplus() {
            let entry = self.entries.get(newcomer.id).and_then(Option::as_ref);
            if entry.is_some_and(|entry| entry.newcomer == Some(newcomer)) {
                self.stores.spare.limit(self.bytes_max / AHEAD_SHARE);
                self.drop_shape(newcomer.id);
                self.newcomers.remember(newcomer);
            }
        }
    }

    fn make<M: Meter>(&mut self, key: &ShapeKey, context: Context<'_, M>) -> Shape {
        let profile = context.profile;
        let mut filters: Vec<ColumnId> = Vec::with_capacity(profile.filters.len());
        for (position, rule) in profile.filters.iter().enumerate() {
            let new = || FilterColumn::new(rule, context.at(position));
            filters.push(self.stores.filters.claim(key.of_column(position), new));
        }
        let mut scores: Vec<ColumnId> = Vec::with_capacity(profile.scores.len());
        for (position, rule) in profile.scores.iter().enumerate() {
            let key = key.of_column(profile.filters.len() + position);
            let new = || ScoreColumn::new(rule, context.at(position));
            scores.push(self.stores.scores.columns.claim(key, new));
        }
        Shape::new(filters, Totals::new(scores, profile))
    }

    /// The shapes at these places and the columns that they share. Places are different and in
    /// ascending order.
    pub(super) fn several_mut(
        &mut self,
        ids: impl Iterator<Item = usize>,
    ) -> (Vec<&mut Shape>, &mut Stores) {
        let entries = several_mut(&mut self.entries, ids).into_iter().flatten();
        (entries.map(|entry| &mut entry.shape).collect(), &mut self.stores)
    }

    /// What making a shape ahead took.
    pub(super) fn note_ahead(&mut self, id: usize, took: AheadTimes) {
        if let Some(Some(entry)) = self.entries.get_mut(id) {
            entry.ahead = Some(took);
        }
    }

    pub(super) fn shape(&self, id: usize) -> Option<&Shape> {
        Some(&self.entries.get(id)?.as_ref()?.shape)
    }

    /// How many shapes like those that were made ahead last may be made ahead together.
    pub(super) fn ahead_max(&self) -> usize {
        (self.bytes_max / AHEAD_SHARE)
            .checked_div(self.ahead_bytes)
            .map_or(usize::MAX, |count| count.max(1))
    }

    /// The largest of the shapes that were made ahead holds so much.
    pub(super) fn note_ahead_bytes(&mut self, bytes: usize) {
        self.ahead_bytes = bytes;
    }

    /// Makes room for so much, if that is a small part of what may be held, at the cost of shapes that
    /// were used longest ago.
    pub(super) fn make_room(&mut self, bytes: usize) -> bool {
        bytes <= self.bytes_max / AHEAD_SHARE && self.drop_others(None, bytes)
    }

    pub(super) fn shape_and_stores(&mut self, id: usize) -> Option<(&mut Shape, &mut Stores)> {
        let entry = self.entries.get_mut(id)?.as_mut()?;
        Some((&mut entry.shape, &mut self.stores))
    }

    /// Makes room for the columns that a shape lacks, at the cost of other shapes. False where there is
    /// none even without these: then nodes are to be asked one by one.
    pub(super) fn has_room<M: Meter>(&mut self, id: usize, context: Context<'_, M>) -> bool {
        let slots = context.cluster.nodes().slots();
        let Some((shape, stores)) = self.shape_and_stores(id) else { return false };
        if shape.has_columns(slots) {
            return true;
        }
        shape.follow_filters(context, stores);
        let of_each = shape.bytes_to_fill(context.profile, stores);
        let needed = slots * of_each.all();
        let has_room = needed <= self.bytes_max && self.drop_others(Some(id), needed);
        self.stores.spare.drop_some(slots * of_each.apart);
        self.uncached += u64::from(!has_room);
        has_room
    }

    /// Takes account of what a shape and its columns hold after a decision, and keeps the bound.
    pub(super) fn weigh(&mut self, id: usize) {
        let Some(Some(entry)) = self.entries.get_mut(id) else { return };
        entry.shape.weigh_columns(&mut self.stores);
        let bytes = entry.shape.weigh() + arc_bytes(&entry.key) + entry.pod_bytes;
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        if !self.drop_others(Some(id), 0) {
            self.drop_shape(id);
        }
    }

    /// Drops shapes other than `kept` until so much more would be within the bound; tells whether it
    /// is. What is needed is taken from the memory that is kept of them, or else as much of that is dropped.
    fn drop_others(&mut self, kept: Option<usize>, needed: usize) -> bool {
        let mut is_within = true;
        while is_within && self.bytes_in_use() + needed > self.bytes_max {
            is_within = self.drop_oldest(kept);
        }
        self.keep_spare();
        is_within
    }

    /// Drops some shapes other than `kept` at once, so that this is not done for every new one: those
    /// that were used longest ago. Not many, because memory that is not used again at once goes back to the
    /// system, and getting it again costs more than filling it. Tells whether there was any.
    fn drop_oldest(&mut self, kept: Option<usize>) -> bool {
        let mut by_age: Vec<(u64, usize)> = self
            .entries
            .iter()
            .enumerate()
            .filter(|(id, _)| Some(*id) != kept)
            .filter_map(|(id, entry)| Some((entry.as_ref()?.used_at, id)))
            .collect();
        let count = by_age.len().div_ceil(DROPPED_PART);
        if count < by_age.len() {
            by_age.select_nth_unstable(count);
            by_age.truncate(count);
        }
        by_age.sort_unstable();
        // Until it is known what is needed, all of their memory may be kept: no more is held than before.
        self.stores.spare.limit(self.bytes_max / AHEAD_SHARE);
        by_age.into_iter().for_each(|(_, id)| self.drop_shape(id));
        count > 0
    }

    /// Without any shape no place for one is kept either.
    fn give_back(&mut self) {
        self.entries = Vec::new();
        self.free = Vec::new();
        self.by_key = FxHashMap::default();
        self.newcomers = Newcomers::default();
        self.stores = Stores::default();
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
            if self.by_key.is_empty() {
                self.give_back();
            }
        }
    }
}
