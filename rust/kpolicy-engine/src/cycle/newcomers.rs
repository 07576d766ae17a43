//! Shapes that one pod alone had so far. Where pods differ, most shapes stay so, and of those only the newest
//! are kept: their memory is used again while it is in the processor's cache.
//!
//! A shape that was dropped here and is made again is no newcomer: it stays like those that several pods had. It
//! is known again while there is any pod like it.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::heap::table_bytes;

/// How many are kept: as many as are made ahead together. Those that are made next use the same memory.
const KEPT_MAX: usize = 32;
/// How many are remembered that were dropped.
const DROPPED_MAX: usize = 4096;

/// A newcomer, by the hash of its key and its place among the shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Newcomer {
    pub(super) hash: u64,
    pub(super) id: usize,
}

#[derive(Debug, Default)]
pub(super) struct Newcomers {
    /// The newest at the end. Some of them other pods have had since.
    kept: VecDeque<Newcomer>,
    /// Those that were dropped, the last at the end. That two keys may have one hash does no harm.
    dropped: VecDeque<u64>,
    /// By hash, which of all that were ever dropped it was last.
    known: FxHashMap<u64, u64>,
    /// How many of those are forgotten.
    forgotten: u64,
}

impl Newcomers {
    /// What they take besides the shapes.
    pub(super) fn bytes(&self) -> usize {
        let kept = self.kept.capacity() * size_of::<Newcomer>();
        kept + self.dropped.capacity() * size_of::<u64>() + table_bytes(&self.known)
    }

    /// A shape of this key is made. `None` if it was dropped before.
    pub(super) fn arrive(&mut self, key: &[u64], id: usize) -> Option<Newcomer> {
        let hash = FxBuildHasher.hash_one(key);
        if self.known.remove(&hash).is_some() {
            return None;
        }
        let newcomer = Newcomer { hash, id };
        self.kept.push_back(newcomer);
        Some(newcomer)
    }

    /// The oldest, if there are too many. It may be none any more.
    pub(super) fn surplus(&mut self) -> Option<Newcomer> {
        if self.kept.len() > KEPT_MAX { self.kept.pop_front() } else { None }
    }

    /// It is dropped because no other pod had its shape.
    pub(super) fn remember(&mut self, newcomer: Newcomer) {
        self.known.insert(newcomer.hash, self.forgotten + self.dropped.len() as u64);
        self.dropped.push_back(newcomer.hash);
        if self.dropped.len() > DROPPED_MAX
            && let Some(hash) = self.dropped.pop_front()
        {
            if self.known.get(&hash) == Some(&self.forgotten) {
                self.known.remove(&hash);
            }
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DROPPED_MAX, KEPT_MAX, Newcomers};

    /// A shape is made, and as many are dropped as are too many.
    fn arrive(newcomers: &mut Newcomers, key: u64) -> (bool, Vec<usize>) {
        let id = usize::try_from(key).unwrap();
        let is_new = newcomers.arrive(&[key], id).is_some();
        let mut dropped = Vec::new();
        while let Some(newcomer) = newcomers.surplus() {
            newcomers.remember(newcomer);
            dropped.push(newcomer.id);
        }
        (is_new, dropped)
    }

    #[test]
    fn the_oldest_goes_and_is_no_newcomer_when_it_comes_again() {
        let mut newcomers = Newcomers::default();
        for key in 0..KEPT_MAX as u64 {
            assert_eq!(arrive(&mut newcomers, key), (true, Vec::new()));
        }
        assert_eq!(arrive(&mut newcomers, 1_000), (true, vec![0]));
        assert_eq!(arrive(&mut newcomers, 0), (false, Vec::new()));
        assert_eq!(arrive(&mut newcomers, 1_001), (true, vec![1]));
    }

    #[test]
    fn those_that_were_dropped_long_ago_are_forgotten() {
        let mut newcomers = Newcomers::default();
        let count = (KEPT_MAX + DROPPED_MAX) as u64;
        (0..count + 10).for_each(|key| {
            arrive(&mut newcomers, key);
        });
        assert!(arrive(&mut newcomers, 9).0, "forgotten");
        assert!(!arrive(&mut newcomers, 20).0);
        (0..10 * count).for_each(|key| {
            arrive(&mut newcomers, count + key);
        });
        let bytes = newcomers.bytes();
        assert!(bytes < 512 << 10, "{bytes}");
    }
}
