//! The work that looking for devices takes on one node, charged while it is done.

use crate::model::{Device, NodeSelector, SlicePlace};

use super::search::Stop;

// In units, as in `rules/prices.rs`.
/// A slice that the node reaches.
pub(super) const SLICE: u64 = 8;
/// Whether a node reaches a slice or device that names a selector, and each of its requirements.
pub(super) const REACHING: u64 = 2;
pub(super) const REQUIREMENT: u64 = 5;
/// Each device that the node reaches.
pub(super) const DEVICE: u64 = 1;
/// Comparing its name with those of the pool's other devices.
pub(super) const NAME: u64 = 4;
/// A request, or an alternative of one, that is made ready.
pub(super) const REQUEST: u64 = 6;
/// A constraint that is made ready.
pub(super) const CONSTRAINT: u64 = 4;
/// A step of the search: a device that is looked at.
pub(super) const STEP: u64 = 1;
/// A device that is given to a request and taken back.
pub(super) const GIVING: u64 = 8;
/// A constraint that is asked about a device, besides the names of requests that it has.
pub(super) const CONSTRAINING: u64 = 6;
/// A capacity of a device: what is asked of it, and what is left.
pub(super) const CAPACITY: u64 = 14;
/// A counter of a pool that is compared or changed.
pub(super) const COUNTER: u64 = 6;
/// A selector that is looked up, and so many bytes of its text for a unit more.
pub(super) const SELECTOR: u64 = 3;
pub(super) const SELECTOR_BYTES: usize = 128;
/// So many answers of selectors are made room for in a unit.
pub(super) const ANSWERS: usize = 32;
/// What one container asks of one resource behind which a class stands.
pub(crate) const CONTAINER_RESOURCE: u64 = 12;

/// The units that are left on a node.
#[derive(Debug)]
pub(crate) struct Work {
    left: u64,
}

/// More would have been needed.
#[derive(Debug)]
pub(crate) struct TooMuch;

impl Work {
    pub(crate) const fn of(units: u64) -> Self {
        Self { left: units }
    }

    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn charge(&mut self, units: u64) -> Result<(), TooMuch> {
        let left = self.left.checked_sub(units);
        self.left = left.unwrap_or_default();
        left.map(|_| ()).ok_or(TooMuch)
    }

    pub(super) fn charge_each(&mut self, count: usize, price: u64) -> Result<(), TooMuch> {
        self.charge((count as u64).saturating_mul(price))
    }
}

impl From<TooMuch> for Stop {
    fn from(_: TooMuch) -> Self {
        Self::TooMuch
    }
}

/// Finding out whether a node reaches what is published for this place.
pub(super) fn of_place(place: &SlicePlace) -> u64 {
    let selector = place.selector.as_ref().map(|written| &written.selector);
    REACHING + selector.map_or(0, of_selector)
}

/// Comparing a node with a selector of nodes.
pub(crate) fn of_selector(selector: &NodeSelector) -> u64 {
    let requirements = selector
        .terms
        .iter()
        .map(|term| term.match_expressions.len() + term.match_fields.len() + 1);
    (requirements.sum::<usize>() as u64).saturating_mul(REQUIREMENT)
}

/// How many counters a device takes of.
pub(super) fn counters_of(device: &Device) -> usize {
    device.consumes.iter().map(|set| set.counters.len()).sum()
}
