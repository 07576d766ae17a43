//! The heartbeat of an engine: a counter that grows with each piece of work.
//!
//! Another thread that reads it twice can tell a long call from one that hangs. It has no part in any
//! answer, and there is no clock here.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counter. Whoever holds it reads it without waiting for the engine.
#[derive(Debug, Default)]
pub struct Progress(AtomicU64);

impl Progress {
    /// Another piece of work begins: an object, a decision, a rule for all nodes, or all rules for a
    /// node.
    pub(crate) fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many pieces of work began so far.
    pub fn beats(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
