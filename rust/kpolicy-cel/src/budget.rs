//! The budget of an evaluation: how many units of cost it may still spend.

use crate::error::{ErrorKind, Fault};
use crate::prices::{COMPARED_BYTES, ENTRY_MADE, ITEM_MADE, TEXT_BYTES};
use crate::value::{Answer, Value};

/// How often a list is halved until one item is left: what sorting takes for each item.
pub(crate) const fn halvings(items: usize) -> u64 {
    (usize::BITS - items.leading_zeros()) as u64
}

/// What making a list or a map takes. Items of one list are alike: the first stands for all.
pub(crate) fn made(value: &Value) -> u64 {
    match value {
        Value::List(items) => {
            let item = items.first().map_or(0, made);
            (items.len() as u64).saturating_mul(ITEM_MADE + item)
        }
        Value::Map(map) => {
            let inside: u64 = map.iter().map(|(_, value)| made(value)).sum();
            (map.len() as u64 * ENTRY_MADE).saturating_add(inside)
        }
        _ => 0,
    }
}

/// Units left; counted down by everything whose time depends on its operands.
///
/// One unit is about one node of an expression, ten bytes of text or one element of a loop.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
    limit: u64,
    lane: u64,
    lanes_exceeded: usize,
    /// What was lacking for the charge that ended the evaluation.
    lacking: u64,
}

impl Budget {
    /// A budget of `limit` units.
    pub const fn new(limit: u64) -> Self {
        Self { left: limit, limit, lane: limit, lanes_exceeded: 0, lacking: 0 }
    }

    /// Sets a separate limit for lanes that are evaluated one by one.
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

    /// The budget of one lane out of this one, of which the lane has spent some.
    pub(crate) fn for_lane(&self, spent: u64) -> Self {
        Self::new(self.lane.saturating_sub(spent).min(self.left))
    }

    /// Counts what a lane has spent.
    pub(crate) fn settle(&mut self, lane: &Self) {
        self.count(lane.spent());
    }

    /// Counts what was spent.
    pub(crate) const fn count(&mut self, units: u64) {
        self.left = self.left.saturating_sub(units);
    }

    /// What has been spent so far.
    pub const fn spent(&self) -> u64 {
        self.limit - self.left
    }

    /// What may still be spent.
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// What has been asked for so far: what has been spent, and what was lacking.
    pub(crate) const fn needed(&self) -> u64 {
        self.spent().saturating_add(self.lacking)
    }

    /// Lanes that reached what a lane may spend.
    pub const fn lanes_exceeded(&self) -> usize {
        self.lanes_exceeded
    }

    pub(crate) const fn count_exceeded(&mut self, lanes: usize) {
        self.lanes_exceeded += lanes;
    }

    /// Takes so many units, or all that is left where that is not enough.
    pub fn charge(&mut self, units: u64) -> Result<(), Fault> {
        if let Some(left) = self.left.checked_sub(units) {
            self.left = left;
            return Ok(());
        }
        self.lacking = units - self.left;
        self.left = 0;
        Err(self.exhausted())
    }

    /// The error of a charge that goes beyond the budget.
    pub fn exhausted(&self) -> Fault {
        let message = format!("cost limit of {} units reached", self.limit);
        Fault::new(ErrorKind::CostExceeded, message)
    }

    /// Charges for the list or map that reading a fact or a member made.
    pub(crate) fn charge_made(&mut self, answer: &Answer) -> Result<(), Fault> {
        match answer {
            Answer::Known(value) => self.charge(made(value)),
            Answer::Absent | Answer::Unknown | Answer::Failed(_) => Ok(()),
        }
    }

    /// Charges for comparing values to the end: what is inside of them besides themselves.
    pub(crate) fn charge_equal(&mut self, a: &Value, b: &Value) -> Result<(), Fault> {
        match (a, b) {
            (Value::String(a), Value::String(b)) if a.len() == b.len() => {
                self.charge(a.len() as u64 / COMPARED_BYTES)
            }
            (Value::Bytes(a), Value::Bytes(b)) if a.len() == b.len() => {
                self.charge(a.len() as u64 / COMPARED_BYTES)
            }
            (Value::List(a), Value::List(b)) if a.len() == b.len() => {
                self.charge(a.len() as u64)?;
                a.iter().zip(b.iter()).try_for_each(|(a, b)| self.charge_equal(a, b))
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                self.charge(2 * a.len() as u64)?;
                a.iter().zip(b.iter()).try_for_each(|((_, a), (_, b))| self.charge_equal(a, b))
            }
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => {
                self.charge(1)?;
                self.charge_equal(a, b)
            }
            _ => Ok(()),
        }
    }

    /// Charges for walking `bytes` of text.
    pub(crate) fn charge_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.charge(1 + bytes as u64 / TEXT_BYTES)
    }
}
