//! The clock for the engine, which has none: time spent in a cycle, for its traces.

use std::time::Instant;

use kpolicy_engine::api::Stopwatch;

pub(crate) struct Monotonic(Instant);

impl Monotonic {
    pub(crate) fn started() -> Self {
        Self(Instant::now())
    }
}

impl Stopwatch for Monotonic {
    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
