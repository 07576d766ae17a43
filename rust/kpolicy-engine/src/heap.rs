//! How many bytes values hold on the heap, as they asked the allocator for them.
//!
//! [`HeapBytes`] gives the size, here for the containers of the standard library. What a value
//! shares with the snapshot belongs to the snapshot and counts nothing here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kpolicy_cel::Expression;

/// What the two counters in front of an `Arc`'s value take.
const COUNTERS: usize = 2 * size_of::<usize>();

/// What a value holds besides itself.
pub(crate) trait HeapBytes {
    fn heap_bytes(&self) -> usize;
}

/// Of a counted reference that nothing but what is weighed holds.
pub(crate) fn arc_bytes<T: HeapBytes + ?Sized>(shared: &Arc<T>) -> usize {
    COUNTERS + size_of_val(&**shared) + shared.heap_bytes()
}

/// Of a vector whose items hold nothing besides themselves.
pub(crate) fn flat_bytes<T: Copy>(values: &Vec<T>) -> usize {
    values.capacity() * size_of::<T>()
}

/// Of a hash table itself: a power of two of places of which one in eight stays free, a byte for each
/// place, and a group of 16 bytes more.
pub(crate) fn table_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    let places = match map.capacity() {
        0 => return 0,
        1..=3 => 4,
        4..=7 => 8,
        more => (more * 8 / 7).next_power_of_two(),
    };
    places * size_of::<(K, V)>() + places + 16
}

/// A node of a B-tree has places for so many entries; on average so many are used.
const BRANCH_PLACES: usize = 11;
const BRANCH_USED: usize = 7;

/// Of the nodes of a B-tree.
fn branch_bytes<T>(len: usize) -> usize {
    let leaf = BRANCH_PLACES * size_of::<T>() + COUNTERS;
    let inner = leaf + (BRANCH_PLACES + 1) * size_of::<usize>();
    match len {
        0 => 0,
        1..=BRANCH_PLACES => leaf,
        _ => {
            let leaves = len.div_ceil(BRANCH_USED);
            leaves * leaf + leaves.div_ceil(BRANCH_USED) * inner
        }
    }
}

macro_rules! nothing {
    ($($name:ty),*) => { $(impl HeapBytes for $name {
        fn heap_bytes(&self) -> usize {
            0
        }
    })* };
}

nothing!(bool, u8, u32, i32, i64, u64, usize, f64, &'static str);

impl HeapBytes for str {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapBytes for String {
    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}

impl HeapBytes for Cow<'_, str> {
    fn heap_bytes(&self) -> usize {
        match self {
            Cow::Borrowed(_) => 0,
            Cow::Owned(text) => text.heap_bytes(),
        }
    }
}

impl<T: HeapBytes> HeapBytes for [T] {
    fn heap_bytes(&self) -> usize {
        self.iter().map(T::heap_bytes).sum()
    }
}

impl<T: HeapBytes + ?Sized> HeapBytes for Box<T> {
    fn heap_bytes(&self) -> usize {
        size_of_val(&**self) + (**self).heap_bytes()
    }
}

impl<T: HeapBytes> HeapBytes for Vec<T> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + self.as_slice().heap_bytes()
    }
}

impl<T: HeapBytes> HeapBytes for Option<T> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::heap_bytes)
    }
}

impl<T: HeapBytes, E: HeapBytes> HeapBytes for Result<T, E> {
    fn heap_bytes(&self) -> usize {
        match self {
            Ok(value) => value.heap_bytes(),
            Err(error) => error.heap_bytes(),
        }
    }
}

impl<A: HeapBytes, B: HeapBytes> HeapBytes for (A, B) {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes() + self.1.heap_bytes()
    }
}

impl<K: HeapBytes, V: HeapBytes, S> HeapBytes for HashMap<K, V, S> {
    fn heap_bytes(&self) -> usize {
        // A sum, for which the order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        let entries: usize =
            self.iter().map(|(key, value)| key.heap_bytes() + value.heap_bytes()).sum();
        table_bytes(self) + entries
    }
}

/// Keys and values that hold nothing besides themselves, so that no entry is looked at.
impl<K: Copy, V: Copy> HeapBytes for BTreeMap<K, V> {
    fn heap_bytes(&self) -> usize {
        branch_bytes::<(K, V)>(self.len())
    }
}

impl<T: HeapBytes> HeapBytes for BTreeSet<T> {
    fn heap_bytes(&self) -> usize {
        branch_bytes::<T>(self.len()) + self.iter().map(T::heap_bytes).sum::<usize>()
    }
}

impl HeapBytes for Expression {
    fn heap_bytes(&self) -> usize {
        Self::heap_bytes(self)
    }
}
