//! Memory of dropped shapes and columns, kept for the next ones: each shape needs as much as the one
//! before, and getting memory and giving it back takes longer than filling it.
//!
//! What is kept counts as held by the cache, and is a small part of what that may hold.

use crate::heap::flat_bytes;
use crate::rules::Code;

/// Vectors of one sort, for the room that they have. What stands in them means nothing.
#[derive(Debug)]
pub(super) struct Shelf<T> {
    vectors: Vec<Vec<T>>,
    /// What the vectors hold.
    bytes: usize,
}

/// The bytes that a shape will hold of each node once it is filled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BytesToFill {
    /// Of vectors that are taken from kept memory, where there is some.
    pub(super) taken: usize,
    /// Of others.
    pub(super) apart: usize,
}

impl BytesToFill {
    pub(super) fn and(self, other: Self) -> Self {
        Self { taken: self.taken + other.taken, apart: self.apart + other.apart }
    }

    pub(super) fn all(self) -> usize {
        self.taken + self.apart
    }
}

/// An item of columns whose memory is kept.
pub(super) trait Kept: Copy {
    fn shelf(spare: &mut Spare) -> &mut Shelf<Self>;
}

#[derive(Debug, Default)]
pub(super) struct Spare {
    flags: Shelf<bool>,
    finished: Shelf<u8>,
    codes: Shelf<Code>,
    totals: Shelf<i32>,
    raw: Shelf<f64>,
    /// The most that it holds.
    bytes_max: usize,
    /// How much was taken so far.
    taken: usize,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { vectors: Vec::new(), bytes: 0 }
    }
}

impl<T: Copy> Shelf<T> {
    fn bytes(&self) -> usize {
        self.bytes + self.vectors.capacity() * size_of::<Vec<T>>()
    }

    fn put(&mut self, vector: Vec<T>) {
        self.bytes += flat_bytes(&vector);
        self.vectors.push(vector);
    }

    fn pop(&mut self) -> Option<Vec<T>> {
        let vector = self.vectors.pop()?;
        self.bytes -= flat_bytes(&vector);
        Some(vector)
    }

    /// Drops vectors that hold so much together, or all; gives what is still to be dropped elsewhere.
    fn drop_some(&mut self, bytes: usize) -> usize {
        let mut left = bytes;
        while left > 0
            && let Some(vector) = self.pop()
        {
            left = left.saturating_sub(flat_bytes(&vector));
        }
        if self.vectors.is_empty() {
            left = left.saturating_sub(self.bytes());
            self.vectors = Vec::new();
        }
        left
    }
}

impl Spare {
    pub(super) fn bytes(&self) -> usize {
        let small = self.flags.bytes() + self.finished.bytes() + self.codes.bytes();
        small + self.totals.bytes() + self.raw.bytes()
    }

    /// From now on it holds no more than that.
    pub(super) fn limit(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.drop_some(self.bytes().saturating_sub(bytes_max));
    }

    /// How much was taken so far, kept or new.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Drops so much of what is kept, or all: as much is got elsewhere.
    pub(super) fn drop_some(&mut self, bytes: usize) {
        let left = self.raw.drop_some(bytes);
        let left = self.totals.drop_some(left);
        let left = self.codes.drop_some(left);
        let left = self.finished.drop_some(left);
        self.flags.drop_some(left);
    }

    /// Keeps the room of a vector that is not needed any more, if there is place for it.
    pub(super) fn put<T: Kept>(&mut self, vector: Vec<T>) {
        let room = flat_bytes(&vector);
        // The shelf may double.
        let shelf = T::shelf(self);
        let longer = (2 * shelf.vectors.len() + 4) * size_of::<Vec<T>>();
        if room > 0 && self.bytes() + longer + room <= self.bytes_max {
            T::shelf(self).put(vector);
        }
    }

    /// A vector with room for so many items, in which some of no meaning may stand. If it is new, as much
    /// that was kept is dropped.
    pub(super) fn take<T: Kept>(&mut self, items: usize) -> Vec<T> {
        while let Some(vector) = T::shelf(self).pop() {
            if vector.capacity() >= items {
                self.taken += flat_bytes(&vector);
                return vector;
            }
        }
        let bytes = items * size_of::<T>();
        self.taken += bytes;
        self.drop_some(bytes);
        Vec::with_capacity(items)
    }
}

macro_rules! kept {
    ($($item:ty: $shelf:ident),*) => { $(impl Kept for $item {
        fn shelf(spare: &mut Spare) -> &mut Shelf<Self> {
            &mut spare.$shelf
        }
    })* };
}

kept!(bool: flags, u8: finished, Code: codes, i32: totals, f64: raw);

#[cfg(test)]
mod tests {
    use super::Spare;

    #[test]
    fn room_is_found_again_and_never_more_than_may_be_kept() {
        let mut spare = Spare::default();
        spare.put(vec![1_u8; 1_000]);
        assert_eq!(spare.bytes(), 0, "nothing may be kept at first");
        spare.limit(10_000);
        spare.put(vec![7_i32; 1_000]);
        spare.put(vec![1_u8; 1_000]);
        spare.put(vec![1.0; 1_000]);
        let kept = spare.bytes();
        assert!((5_000..7_000).contains(&kept), "no place for the largest: {kept}");
        let again: Vec<i32> = spare.take(900);
        assert_eq!(again.capacity(), 1_000);
        let new: Vec<f64> = spare.take(50);
        assert!(new.capacity() >= 50);
        let before = spare.bytes();
        assert!(
            before <= kept - 4_000 - 400,
            "new room takes the place of what was kept: {before}"
        );
        spare.limit(0);
        assert_eq!(spare.bytes(), 0);
    }

    #[test]
    fn what_is_too_short_is_not_kept() {
        let mut spare = Spare::default();
        spare.limit(100_000);
        spare.put(vec![true; 10]);
        assert!(spare.take::<bool>(100).capacity() >= 100);
        assert_eq!(spare.take::<bool>(0).capacity(), 0, "the short one is gone");
    }
}
