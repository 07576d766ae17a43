//! The raw scores that a rule gives all nodes, and what is known of the lowest and the highest of them.

use crate::rules::Fitted;
use crate::snapshot::{Generation, NodeSlot};

/// Raw scores, with their extremes, and when any of them became another.
#[derive(Debug)]
pub(super) struct Raw {
    pub(crate) scores: Vec<f64>,
    pub(crate) extremes: Extremes,
    pub(crate) altered: Generation,
}

/// What is known of the lowest and the highest raw score of all nodes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Extremes {
    /// Not asked yet.
    Unknown,
    /// All scores lie within; nothing says that any lies on them.
    Within(Fitted),
    /// Some lie on them.
    Exact(Fitted),
}

impl Extremes {
    pub(super) fn bounds(&self) -> Option<&Fitted> {
        match self {
            Self::Unknown => None,
            Self::Within(fitted) | Self::Exact(fitted) => Some(fitted),
        }
    }

    /// One score was written over, or its node is gone.
    fn loosen(&mut self, old: f64, new: Option<f64>) {
        if let Some(bounds) = self.bounds() {
            let mut bounds = bounds.clone();
            // An extreme may have gone with it.
            let is_within = bounds.lowest < old && old < bounds.highest;
            if let Some(value) = new {
                bounds.lowest = bounds.lowest.min(value);
                bounds.highest = bounds.highest.max(value);
            }
            *self = match self {
                Self::Exact(_) if is_within => Self::Exact(bounds),
                _ => Self::Within(bounds),
            };
        }
    }
}

impl Raw {
    /// The score of one node, or none if it is gone.
    #[allow(clippy::float_cmp, reason = "whether it is another")]
    pub(super) fn put(&mut self, slot: NodeSlot, value: Option<f64>, now: Generation) {
        let Some(cell) = self.scores.get_mut(slot.index()) else { return };
        let old = *cell;
        let bounds = self.extremes.bounds();
        // A node that is new has not counted so far, whatever stands in its place.
        let is_beyond = |value: f64| {
            bounds.is_some_and(|bounds| value < bounds.lowest || bounds.highest < value)
        };
        if value.is_some_and(|value| value == old && !is_beyond(value)) {
            return;
        }
        *cell = value.unwrap_or(old);
        self.extremes.loosen(old, value);
        self.altered = now;
    }
}
