//! How the engine measures time without a clock of its own.

/// Time spent, from a start that the caller chose: the engine has no clock of its own.
pub trait Stopwatch: Sync {
    /// Nanoseconds since the start.
    fn elapsed_ns(&self) -> u64;
}

/// A stopwatch that stands still, for offline verbs and tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Still;

impl Stopwatch for Still {
    fn elapsed_ns(&self) -> u64 {
        0
    }
}
