//! The cost an evaluation may still spend.

use crate::error::{Fault, Kind};

/// Units left; counted down by everything whose time depends on its operands.
///
/// One unit is about one node of an expression, ten bytes of text or one element of a loop.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
    limit: u64,
    lane: u64,
    lanes_exceeded: usize,
}

impl Budget {
    pub const fn new(limit: u64) -> Self {
        Self { left: limit, limit, lane: limit, lanes_exceeded: 0 }
    }

    /// The same, with a limit of its own for what is evaluated lane by lane.
    #[must_use]
    pub const fn with_lane_limit(mut self, lane: u64) -> Self {
        self.lane = lane;
        self
    }

    /// For many lanes at once: what one of them may spend, however much that is together. A lane
    /// that would spend more in the scalar evaluator gets the error it would get there.
    pub const fn of_each_lane(lane: u64) -> Self {
        Self::new(u64::MAX).with_lane_limit(lane)
    }

    /// What a lane may spend.
    pub(crate) const fn lane_limit(&self) -> u64 {
        self.lane
    }

    /// The budget of one lane out of this one.
    pub(crate) fn for_lane(&self) -> Self {
        Self::new(self.lane.min(self.left))
    }

    /// Counts what a lane has spent.
    pub(crate) fn settle(&mut self, lane: &Self) {
        self.left = self.left.saturating_sub(lane.spent());
    }

    /// What has been spent so far.
    pub const fn spent(&self) -> u64 {
        self.limit - self.left
    }

    /// Lanes that reached what a lane may spend.
    pub const fn lanes_exceeded(&self) -> usize {
        self.lanes_exceeded
    }

    pub(crate) const fn count_exceeded(&mut self, lanes: usize) {
        self.lanes_exceeded += lanes;
    }

    pub(crate) fn charge(&mut self, units: u64) -> Result<(), Fault> {
        if let Some(left) = self.left.checked_sub(units) {
            self.left = left;
            return Ok(());
        }
        self.left = 0;
        Err(self.exhausted())
    }

    pub(crate) fn exhausted(&self) -> Fault {
        let message = format!("cost limit of {} units reached", self.limit);
        Fault::new(Kind::CostExceeded, message)
    }

    /// Charges for walking `bytes` of text.
    pub(crate) fn charge_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.charge(1 + bytes as u64 / 10)
    }
}
