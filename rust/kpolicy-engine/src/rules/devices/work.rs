//! The work that looking for devices takes on one node, charged while it is done.

use crate::model::{Ask, CounterSet, DeviceCapacity, NodeSelector, RequestPolicy, SlicePlace};

use super::search::Stop;

// In units, as in `rules/prices.rs`.
/// A slice that the node reaches.
pub(super) const SLICE: u64 = 8;
/// Whether a node reaches a slice or device that names a selector, and each of its requirements.
pub(super) const REACHING: u64 = 2;
pub(super) const REQUIREMENT: u64 = 5;
/// A device that the node reaches, where some of its pool are in use.
pub(super) const DEVICE: u64 = 1;
/// So many slices of a node whose pools and generations are compared with one, for a unit.
pub(super) const SLICES_COMPARED: usize = 4;
/// So many devices that the node reaches are a unit where none of the pool is in use, and so many
/// that are passed over because the attempt itself has given them.
pub(super) const DEVICES_IN_A_ROW: usize = 4;
/// Comparing its name with those of the pool's other devices.
pub(super) const NAME: u64 = 4;
/// A request, or an alternative of one, that is made ready.
pub(super) const REQUEST: u64 = 14;
/// A class with selectors that is made ready for a score that counts its devices.
pub(super) const COUNTING: u64 = 100;
/// A constraint that is made ready.
pub(super) const CONSTRAINT: u64 = 4;
/// A step of the search: a device that is looked at.
pub(super) const STEP: u64 = 1;
/// A device that is given to a request and taken back.
pub(super) const GIVING: u64 = 9;
/// A constraint that is asked about a device, besides the names of requests that it has.
pub(super) const CONSTRAINING: u64 = 6;
/// A capacity of a device: what a request takes of it, and whether that is left.
pub(super) const CAPACITY: u64 = 1;
/// One that says how shares of it are taken, with so many values for a unit more.
pub(super) const CAPACITY_POLICY: u64 = 8;
pub(super) const CAPACITY_VALUES: usize = 4;
/// A capacity of a device that is given out in shares: what it takes is noted, and forgotten again.
pub(super) const SHARE: u64 = 14;
/// So many capacities that a request names are looked for in a unit.
pub(super) const CAPACITIES_NAMED: u64 = 4;
/// A counter of a pool that is compared or changed.
pub(super) const COUNTER: u64 = 6;
/// A selector of a request that is looked up, and so many bytes of its text for a unit more.
pub(super) const SELECTOR: u64 = 3;
pub(super) const SELECTOR_BYTES: usize = 128;
/// A selector that is asked about a device, besides what evaluating it takes.
pub(super) const ASKING: u64 = 3;
/// What a selector may spend before it counts as long.
const SELECTOR_UNITS: u64 = 10;
/// An allocation that is compared with others, besides what rules spend on it.
pub(super) const COMPARING: u64 = 8;
/// What a selector looks at of a device that is like no other of its slice that the selector knows.
pub(super) const UNLIKE: u64 = 9;
/// Something of a device that is looked up by its name.
pub(super) const LOOKED_UP: u64 = 24;
/// So many attributes or capacities are searched for a name in a unit.
pub(super) const ENTRIES_SEARCHED: usize = 8;
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

    pub(crate) const fn left(&self) -> u64 {
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

/// What evaluating a selector takes that spends so much. What a long one spends beyond that takes half as
/// much again as in the expression of a rule, because it looks up more and more of the device.
pub(super) const fn of_evaluating(spent: u64) -> u64 {
    spent.saturating_add(spent.saturating_sub(SELECTOR_UNITS) / 2)
}

/// What a selector may spend where so much is left.
pub(super) const fn spendable(left: u64) -> u64 {
    left - left.saturating_sub(SELECTOR_UNITS).div_ceil(3)
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
pub(super) fn counters_of(consumes: &[CounterSet]) -> usize {
    consumes.iter().map(|set| set.counters.len()).sum()
}

/// What a request takes of the capacities of a device.
pub(super) fn of_capacities(capacities: &[(Box<str>, DeviceCapacity)], ask: &Ask) -> u64 {
    let of_policy = |policy: &RequestPolicy| {
        let values = policy.valid_values.as_ref().map_or(0, |values| values.len());
        CAPACITY_POLICY + (values / CAPACITY_VALUES) as u64
    };
    let own = capacities
        .iter()
        .map(|(_, capacity)| CAPACITY + capacity.policy.as_ref().map_or(0, of_policy));
    let named = ask.capacity.len() as u64;
    own.sum::<u64>() + named + named * capacities.len() as u64 / CAPACITIES_NAMED
}

#[cfg(test)]
mod tests {
    use super::{of_evaluating, spendable};

    #[test]
    fn a_selector_that_spends_all_that_it_may_takes_no_more_than_is_left() {
        for left in 0..1_000 {
            let most = spendable(left);
            assert!(of_evaluating(most) <= left, "{left}");
            assert!(of_evaluating(most + 2) > left, "{left}");
        }
    }
}
