//! The shapes of the program in force, within a bound of memory.
//!
//! Finds the shape of a pod. When the shapes hold too much, those that were used longest ago are
//! dropped, first of those that only one decision used: where no pod is like another, the same memory
//! is written again and again, and stays in the caches of the processor. This costs time and never
//! changes a result.

use rustc_hash::FxHashMap;

use crate::heap::{flat_bytes, table_bytes};
use crate::timing::Meter;

use super::ahead::AheadTimes;
use super::context::Context;
use super::dropped::Dropped;
use super::filter_answers::FilterColumn;
use super::score_answers::ScoreColumn;
use super::shape::{Shape, Stores};
use super::shape_key::ShapeKey;
use super::store::{ColumnId, several_mut};
use super::totals::Totals;

/// What shapes and their columns may hold together.
pub const CACHE_BYTES_MAX: usize = 96 * 1024 * 1024;
/// Shapes that only one decision used may hold this part of it: what stays in the caches of a processor.
const ONCE_SHARE: usize = 8;
/// Shapes that are made ahead together may hold this part of it.
const AHEAD_SHARE: usize = 6;
/// A shape that was made ahead and not used after so many decisions is most likely not used at all.
const AHEAD_DECISIONS_MAX: u64 = 64;
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
    key: Box<[u64]>,
    used_at: u64,
    bytes: usize,
    /// With columns that no other shape uses.
    bytes_alone: usize,
    /// Of parts of the pod that it was made for. What its rules keep of them stays while the shape does.
    pod_bytes: usize,
    /// It was made ahead, which took so long, and no decision used it so far.
    ahead: Option<AheadTimes>,
    /// No more than one decision used it, and it is not known that another was in want of it.
    is_once: bool,
}

impl Entry {
    /// What it holds if only one decision used it.
    fn once_bytes(&self) -> usize {
        if self.is_once { self.bytes_alone } else { 0 }
    }

    /// Whether a decision used it, which was the only one so far and is not under way.
    fn is_spent(&self, now: u64) -> bool {
        let is_awaited = self.ahead.is_some() && now - self.used_at <= AHEAD_DECISIONS_MAX;
        self.is_once && self.used_at < now && !is_awaited
    }
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
    by_key: FxHashMap<Box<[u64]>, usize>,
    pub stores: Stores,
    /// Of all shapes and their keys, without columns that are shared.
    bytes: usize,
    bytes_max: usize,
    /// Of shapes that only one decision used, with columns that no other shape uses.
    once_bytes: usize,
    dropped: Dropped,
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
            stores: Stores::default(),
            bytes: 0,
            bytes_max: CACHE_BYTES_MAX,
            once_bytes: 0,
            dropped: Dropped::default(),
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
        let tables = flat_bytes(&self.free) + table_bytes(&self.by_key) + self.dropped.heap_bytes();
        self.bytes + places + tables + self.stores.bytes()
    }

    /// From now on no more is held than that.
    pub(super) fn limit(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.drop_others(None, 0);
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
            self.once_bytes -= entry.once_bytes();
            entry.is_once = false;
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

    /// The place of a shape that is not there yet.
    pub(super) fn add<M: Meter>(
        &mut self,
        key: &ShapeKey,
        context: Context<'_, M>,
        ahead: Option<AheadTimes>,
    ) -> usize {
        self.misses += 1;
        if self.len() >= SHAPES_MAX {
            self.drop_oldest(|_, _| true);
        }
        let shape = self.make(key, context);
        let key: Box<[u64]> = key.parts().into();
        let pod_bytes = context.pod.bytes_beyond_ordinary();
        let used_at = self.clock;
        let is_once = !self.dropped.has(&key);
        let (key_again, bytes, bytes_alone) = (key.clone(), 0, 0);
        let entry =
            Entry { shape, key: key_again, used_at, bytes, bytes_alone, pod_bytes, ahead, is_once };
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
        let needed = shape.bytes_to_fill(slots, context.profile, stores);
        let has_room = needed <= self.bytes_max && self.drop_others(Some(id), needed);
        self.uncached += u64::from(!has_room);
        has_room
    }

    /// Takes account of what a shape and its columns hold after a decision, and keeps the bound.
    pub(super) fn weigh(&mut self, id: usize) {
        let Some(Some(entry)) = self.entries.get_mut(id) else { return };
        let of_columns = entry.shape.weigh_columns(&mut self.stores);
        let bytes = entry.shape.weigh() + 2 * size_of_val(&*entry.key) + entry.pod_bytes;
        self.bytes = self.bytes - entry.bytes + bytes;
        self.once_bytes -= entry.once_bytes();
        entry.bytes = bytes;
        entry.bytes_alone = bytes + of_columns;
        self.once_bytes += entry.once_bytes();
        if !self.drop_others(Some(id), 0) {
            self.drop_shape(id);
        }
    }

    /// Drops shapes other than `kept` until so much more would be within the bound; tells whether it
    /// is.
    fn drop_others(&mut self, kept: Option<usize>, needed: usize) -> bool {
        let now = self.clock;
        let is_spent = |_: usize, entry: &Entry| entry.is_spent(now);
        while self.once_bytes + needed > self.bytes_max / ONCE_SHARE && self.drop_oldest(is_spent) {
        }
        let is_other = |id: usize| Some(id) != kept;
        while self.bytes() + needed > self.bytes_max {
            let has_dropped = self.drop_oldest(|id, entry| !entry.is_once && is_other(id))
                || self.drop_oldest(|id, _| is_other(id));
            if !has_dropped {
                return false;
            }
        }
        true
    }

    /// Drops some shapes of those that may be dropped at once, so that this is not done for every new
    /// one: those that were used longest ago. Not many, because memory that is not used again at once goes
    /// back to the system, and getting it again costs more than filling it. Tells whether there was any.
    fn drop_oldest(&mut self, may_be_dropped: impl Fn(usize, &Entry) -> bool) -> bool {
        let mut by_age: Vec<(u64, usize)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(id, entry)| Some((id, entry.as_ref()?)))
            .filter(|(id, entry)| may_be_dropped(*id, entry))
            .map(|(id, entry)| (entry.used_at, id))
            .collect();
        let count = by_age.len().div_ceil(DROPPED_PART);
        if count < by_age.len() {
            by_age.select_nth_unstable(count);
            by_age.truncate(count);
        }
        by_age.sort_unstable();
        for (_, id) in by_age {
            self.remember(id);
            self.drop_shape(id);
        }
        count > 0
    }

    /// That the shape was there, if there is room for that.
    fn remember(&mut self, id: usize) {
        if let Some(Some(entry)) = self.entries.get(id)
            && Dropped::BYTES <= self.bytes_max / DROPPED_PART
        {
            self.dropped.put(&entry.key);
        }
    }

    /// Without any shape no place for one is kept either.
    fn give_back(&mut self) {
        self.entries = Vec::new();
        self.free = Vec::new();
        self.by_key = FxHashMap::default();
        self.stores = Stores::default();
        self.dropped = Dropped::default();
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
            self.once_bytes -= entry.once_bytes();
            self.free.push(id);
            entry.shape.release(&mut self.stores);
            if self.by_key.is_empty() {
                self.give_back();
            }
        }
    }
}
