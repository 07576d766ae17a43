//! Interning: equal values are held once and have an id.
//!
//! [`Shared`] is a counted reference with an id, [`Interner`] the table of one type. Ids are never
//! used twice, so a cache keyed by an id can be out of date but never wrong. Values without a holder
//! stay until the owner of the table sweeps it. Results may depend on ids only for equality, never
//! for order.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::heap::HeapBytes;

/// What an entry weighs besides its value.
const ENTRY_BYTES: usize = 64;

/// Adds up the bytes that a value is hashed from: close to what it holds, for any type that is
/// interned.
#[derive(Default)]
struct Weight(usize);

impl Hasher for Weight {
    fn write(&mut self, bytes: &[u8]) {
        // Each part of a value also has a pointer and a length.
        self.0 += bytes.len() + 2 * size_of::<usize>();
    }

    fn finish(&self) -> u64 {
        self.0 as u64
    }
}

fn weight_of<T: Hash>(value: &T) -> usize {
    let mut weight = Weight(ENTRY_BYTES);
    value.hash(&mut weight);
    weight.0
}

#[derive(Debug)]
struct Entry<T> {
    id: u64,
    bytes: usize,
    value: T,
}

/// A value held once; equal to another of the same interner exactly when the values are equal.
#[derive(Debug)]
pub struct Shared<T>(Arc<Entry<T>>);

/// A text held once: names of namespaces, resources, schedulers.
pub(crate) type Name = Shared<Arc<str>>;

impl<T> Shared<T> {
    /// Unique among all values that its interner ever held.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// What the value holds, about; shared values inside it count nothing.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }
}

/// The interner holds the value.
impl<T> HeapBytes for Shared<T> {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl<T> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

/// A shared value that the table finds by what it holds.
#[derive(Debug)]
struct ByValue<T>(Shared<T>);

impl<T: Hash> Hash for ByValue<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.0.value.hash(state);
    }
}

impl<T: PartialEq> PartialEq for ByValue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.0.value == other.0.0.value
    }
}

impl<T: Eq> Eq for ByValue<T> {}

impl<T> Borrow<T> for ByValue<T> {
    fn borrow(&self) -> &T {
        &self.0.0.value
    }
}

#[derive(Debug)]
pub(crate) struct Interner<T> {
    held: FxHashSet<ByValue<T>>,
    next_id: u64,
    bytes: usize,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { held: FxHashSet::default(), next_id: 0, bytes: 0 }
    }
}

impl<T: Hash + Eq> Interner<T> {
    pub(crate) fn intern(&mut self, value: T) -> Shared<T> {
        if let Some(found) = self.held.get(&value) {
            return found.0.clone();
        }
        let bytes = weight_of(&value);
        let shared = Shared(Arc::new(Entry { id: self.next_id, bytes, value }));
        self.next_id += 1;
        self.bytes += bytes;
        self.held.insert(ByValue(shared.clone()));
        shared
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// What its values hold, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops values that nobody holds. Where values hold those of another table, that one comes later.
    pub(crate) fn sweep(&mut self) {
        self.held.retain(|entry| {
            let is_held = Arc::strong_count(&entry.0.0) > 1;
            self.bytes -= if is_held { 0 } else { entry.0.0.bytes };
            is_held
        });
        // The table keeps its places otherwise, as many as it once had entries.
        self.held.shrink_to(2 * self.held.len());
    }
}

impl Interner<Arc<str>> {
    pub(crate) fn name(&mut self, text: &str) -> Name {
        match self.held.get(text) {
            Some(found) => found.0.clone(),
            None => self.intern(Arc::from(text)),
        }
    }

    pub(crate) fn find_name(&self, text: &str) -> Option<Name> {
        self.held.get(text).map(|found| found.0.clone())
    }
}

impl Borrow<str> for ByValue<Arc<str>> {
    fn borrow(&self) -> &str {
        &self.0.0.value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Interner;

    #[test]
    fn equal_values_share_an_id_and_unheld_ones_are_swept() {
        let mut names: Interner<Arc<str>> = Interner::default();
        let first = names.name("a");
        let bytes = names.bytes();
        assert_eq!(first, names.name("a"));
        assert_ne!(first, names.name("b"));
        assert_eq!(names.len(), 2);
        names.sweep();
        assert_eq!((names.len(), names.bytes()), (1, bytes));
        assert_eq!(names.name("a").id(), first.id());
    }

    #[test]
    fn an_id_is_never_used_twice() {
        let mut names: Interner<Arc<str>> = Interner::default();
        let gone = names.name("gone").id();
        names.sweep();
        assert_eq!(names.len(), 0);
        assert_ne!(names.name("gone").id(), gone);
    }
}
