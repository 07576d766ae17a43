//! Shapes that were dropped not long ago. A pod that is in want of one of them shows that its shape comes
//! again, though not soon.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use crate::heap::flat_bytes;

/// About as many as the cache has shapes, in a cluster of 5,000 nodes.
const PLACES: usize = 2_048;

/// Hashes of their keys, each in the place that it says; a later one takes the place of an earlier one.
#[derive(Debug, Default)]
pub(super) struct Dropped(Vec<u64>);

impl Dropped {
    /// What it holds once a shape was dropped.
    pub(super) const BYTES: usize = PLACES * size_of::<u64>();

    pub(super) fn put(&mut self, key: &[u64]) {
        if self.0.is_empty() {
            self.0 = vec![0; PLACES];
        }
        let (place, hash) = place_of(key);
        if let Some(cell) = self.0.get_mut(place) {
            *cell = hash;
        }
    }

    pub(super) fn has(&self, key: &[u64]) -> bool {
        let (place, hash) = place_of(key);
        self.0.get(place) == Some(&hash)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        flat_bytes(&self.0)
    }
}

fn place_of(key: &[u64]) -> (usize, u64) {
    // The lowest bit says that there is one.
    let hash = FxBuildHasher.hash_one(key) | 1;
    let places = PLACES as u64;
    (usize::try_from((hash >> 1) % places).unwrap_or(0), hash)
}

#[cfg(test)]
mod tests {
    use super::{Dropped, PLACES};

    #[test]
    fn what_was_dropped_is_known_until_much_was_dropped_after_it() {
        let mut dropped = Dropped::default();
        assert!(!dropped.has(&[1, 2]));
        assert_eq!(dropped.heap_bytes(), 0);
        dropped.put(&[1, 2]);
        assert!(dropped.has(&[1, 2]) && !dropped.has(&[2, 1]));
        assert_eq!(dropped.heap_bytes(), Dropped::BYTES);
        (0..20 * PLACES as u64).for_each(|number| dropped.put(&[number]));
        assert!(!dropped.has(&[1, 2]));
    }
}
