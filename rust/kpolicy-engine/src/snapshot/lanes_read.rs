//! How many nodes, and values of labels, the snapshot has shown to rules: what a test of their costs
//! counts. Only builds with debug assertions count.

use std::cell::Cell;

thread_local! {
    static LANES: Cell<u64> = const { Cell::new(0) };
}

/// Some more were shown.
pub(super) fn count(lanes: usize) {
    if cfg!(debug_assertions) {
        LANES.set(LANES.get() + lanes as u64);
    }
}

/// All that were shown to this thread so far.
pub fn lanes_read() -> u64 {
    LANES.get()
}
