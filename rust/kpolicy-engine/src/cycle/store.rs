//! The store of columns, by rule and sub-shape. A column lives as long as a shape uses it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::heap::{arc_bytes, table_bytes};

/// A column's place in its store.
pub(super) type ColumnId = usize;

/// Columns that are found by their places: all of a store, or those that a task has at hand.
pub(super) trait Columns<C>: Sync {
    fn get(&self, id: ColumnId) -> Option<&C>;
}

#[derive(Debug)]
struct Entry<C> {
    column: C,
    key: Arc<[u64]>,
    users: usize,
    /// What the column was found to hold last, besides its place in the store.
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Store<C> {
    entries: Vec<Option<Entry<C>>>,
    free: Vec<ColumnId>,
    by_key: FxHashMap<Arc<[u64]>, ColumnId>,
    /// Of all columns and their keys.
    bytes: usize,
}

impl<C> Default for Store<C> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), by_key: FxHashMap::default(), bytes: 0 }
    }
}

impl<C: Sync> Columns<C> for Store<C> {
    fn get(&self, id: ColumnId) -> Option<&C> {
        self.entries.get(id)?.as_ref().map(|entry| &entry.column)
    }
}

impl<C> Store<C> {
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// By what it is found.
    pub(super) fn key(&self, id: ColumnId) -> Option<&[u64]> {
        self.entries.get(id)?.as_ref().map(|entry| &*entry.key)
    }

    pub(super) fn get_mut(&mut self, id: ColumnId) -> Option<&mut C> {
        self.entries.get_mut(id)?.as_mut().map(|entry| &mut entry.column)
    }

    /// What is at each place, in order.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = Option<&mut C>> {
        self.entries.iter_mut().map(|entry| entry.as_mut().map(|entry| &mut entry.column))
    }

    pub(super) fn has(&self, key: &[u64]) -> bool {
        self.by_key.contains_key(key)
    }

    /// What all columns hold together, each as it was weighed last.
    pub(super) fn bytes(&self) -> usize {
        let places = self.entries.capacity() * size_of::<Option<Entry<C>>>();
        let free = self.free.capacity() * size_of::<ColumnId>();
        self.bytes + places + free + table_bytes(&self.by_key)
    }

    /// Takes account of what a column holds now.
    pub(super) fn weigh(&mut self, id: ColumnId, bytes_of: impl FnOnce(&mut C) -> usize) {
        if let Some(Some(entry)) = self.entries.get_mut(id) {
            let bytes = bytes_of(&mut entry.column) + arc_bytes(&entry.key);
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        }
    }

    /// The column of a key, made if it is not there, with one user more.
    pub(super) fn claim(&mut self, key: &[u64], make: impl FnOnce() -> C) -> ColumnId {
        let id = match self.by_key.get(key) {
            Some(id) => *id,
            None => self.add(key, make()),
        };
        if let Some(Some(entry)) = self.entries.get_mut(id) {
            entry.users += 1;
        }
        id
    }

    /// Keeps a column for those who claim it.
    pub(super) fn add(&mut self, key: &[u64], column: C) -> ColumnId {
        let key: Arc<[u64]> = key.into();
        let entry = Entry { column, key: Arc::clone(&key), users: 0, bytes: 0 };
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

    /// Removes one user; gives the column if it has no more, and forgets it.
    pub(super) fn release(&mut self, id: ColumnId) -> Option<C> {
        let entry = self.entries.get_mut(id)?.as_mut()?;
        entry.users = entry.users.saturating_sub(1);
        if entry.users > 0 {
            return None;
        }
        let entry = self.entries.get_mut(id)?.take()?;
        self.by_key.remove(&entry.key);
        self.bytes -= entry.bytes;
        self.free.push(id);
        Some(entry.column)
    }
}

/// The items at these indices, which are different and in ascending order.
pub(super) fn several_mut<T>(items: &mut [T], indices: impl Iterator<Item = usize>) -> Vec<&mut T> {
    let mut rest = items;
    let mut passed = 0;
    let mut found = Vec::new();
    for index in indices {
        let ahead = index.checked_sub(passed).and_then(|ahead| rest.split_at_mut_checked(ahead));
        let Some((item, behind)) = ahead.and_then(|(_, from)| from.split_first_mut()) else {
            break;
        };
        found.push(item);
        rest = behind;
        passed = index + 1;
    }
    found
}
