//! What a request takes of the capacities of a device, and whether that is left.

use std::collections::BTreeMap;

use crate::model::{
    Ask, DeviceCapacity, Quantity, QuantityFormat, RequestPolicy, ValidRange, WrittenQuantity,
};
use crate::release::{Followed, Gate};

use super::attempt::{Attempt, Candidate};
use super::search::Stop;
use super::work::of_capacities;

const MILLI: i128 = 1_000_000;

/// An amount that cannot be computed with.
#[derive(Debug)]
pub(super) struct Unusable(String);

impl Attempt<'_> {
    /// Whether the request takes the whole of each capacity, and nobody has any of it: none has to be
    /// looked at.
    fn is_left_whole(&self, ask: &Ask, place: usize) -> bool {
        let is_left = |own: &Candidate<'_>| !own.is_held() && own.row.flags().has_plain_capacity();
        ask.capacity.is_empty()
            && self.candidate(place).is_some_and(is_left)
            && self.marks.shares(place).is_none()
    }

    /// What `has_capacity` takes.
    pub(super) fn units_of_capacity(&self, ask: &Ask, place: usize) -> u64 {
        match self.candidate(place) {
            Some(own) if !self.is_left_whole(ask, place) => {
                of_capacities(own.row.capacity(), ask) + own.units_of_use()
            }
            _ => 0,
        }
    }

    /// Whether a device has what a request takes of each capacity. `of_all`: of all that it has, and
    /// not of what others leave.
    pub(super) fn has_capacity(&self, ask: &Ask, place: usize, of_all: bool) -> Result<bool, Stop> {
        let Some(candidate) = self.candidate(place) else { return Ok(false) };
        if !self.followed.has(Gate::DRAConsumableCapacity) || self.is_left_whole(ask, place) {
            return Ok(true);
        }
        let capacities = candidate.row.capacity();
        let is_known = |name: &str| capacities.iter().any(|(have, _)| **have == *name);
        if !ask.capacity.iter().all(|(name, _)| is_known(name)) {
            return Ok(false);
        }
        let of = |(name, capacity): &(Box<str>, DeviceCapacity)| {
            consumed_of(ask, name, capacity, self.followed)
                .map_err(|Unusable(why)| Stop::Fatal(why))
        };
        // What cannot be computed fails before anything is compared.
        for capacity in capacities {
            of(capacity)?;
        }
        let in_use = if of_all { None } else { candidate.in_use() };
        let used = in_use.map(|own| &own.consumed);
        let shares = self.marks.shares(place).filter(|_| !of_all);
        let held = |map: Option<&BTreeMap<Box<str>, i128>>, name: &str| {
            map.and_then(|map| map.get(name)).copied().unwrap_or_default()
        };
        for own @ (name, capacity) in capacities {
            let amount = of(own)?;
            if violates(amount, capacity.policy.as_ref(), self.followed) {
                return Ok(false);
            }
            let sum = amount.amount.nanos() + held(used, name) + held(shares, name);
            if sum > capacity.value.amount.nanos() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What a request takes of each capacity of a device, in their order.
pub(super) fn consumed(
    ask: &Ask,
    capacities: &[(Box<str>, DeviceCapacity)],
    followed: Followed,
) -> Result<Vec<(Box<str>, WrittenQuantity)>, Unusable> {
    let own = capacities.iter().map(|(name, capacity)| {
        let amount = consumed_of(ask, name, capacity, followed)?;
        Ok((name.clone(), amount))
    });
    own.collect()
}

fn consumed_of(
    ask: &Ask,
    name: &str,
    capacity: &DeviceCapacity,
    followed: Followed,
) -> Result<WrittenQuantity, Unusable> {
    let asked = ask.capacity.iter().find(|(have, _)| **have == *name).map(|(_, amount)| *amount);
    let amount = taken(asked, capacity, followed)
        .map_err(|Unusable(why)| Unusable(format!("capacity {name:?}: {why}")))?;
    if followed.has(Gate::DRAFractionalCapacityRange) && amount.amount.nanos() < 0 {
        return Err(Unusable(format!("capacity {name:?}: capacity value is negative")));
    }
    Ok(amount)
}

fn taken(
    asked: Option<WrittenQuantity>,
    capacity: &DeviceCapacity,
    followed: Followed,
) -> Result<WrittenQuantity, Unusable> {
    let policy = capacity.policy.as_ref();
    let Some(asked) = asked else {
        return Ok(policy.and_then(|policy| policy.default).unwrap_or(capacity.value));
    };
    match policy {
        Some(RequestPolicy { valid_range: Some(range), .. }) if range.min.is_some() => {
            in_range(asked, range, followed)
        }
        Some(RequestPolicy { valid_values: Some(values), .. }) => {
            let fitting = values.iter().find(|value| asked.amount <= value.amount);
            Ok(fitting.copied().unwrap_or(asked))
        }
        _ => Ok(asked),
    }
}

/// Rounded up to a step of the range.
fn in_range(
    asked: WrittenQuantity,
    range: &ValidRange,
    followed: Followed,
) -> Result<WrittenQuantity, Unusable> {
    let Some(min) = range.min else { return Ok(asked) };
    if asked.amount < min.amount {
        return Ok(min);
    }
    let Some(step) = range.step else { return Ok(asked) };
    if let Some(step_milli) = milli_step(range, followed) {
        let milli = exact_milli(asked.amount).ok_or_else(|| {
            Unusable(format!(
                "capacity request cannot be represented in the device's range arithmetic: request {} is not a representable milli value",
                asked.text()
            ))
        })?;
        let min_milli = min.amount.nanos() / MILLI;
        let steps = divided_up(milli - min_milli, step_milli);
        let amount = Quantity::from_nanos((min_milli + step_milli * steps) * MILLI);
        return Ok(WrittenQuantity { amount, format: step.format });
    }
    let whole = |written: WrittenQuantity| i128::from(written.amount.units_rounded_up());
    let step_units = whole(step);
    if step_units == 0 {
        return Ok(asked);
    }
    let units = whole(min) + step_units * divided_up(whole(asked) - whole(min), step_units);
    let format = if followed.has(Gate::DRAFractionalCapacityRange) {
        step.format
    } else {
        QuantityFormat::Binary
    };
    let amount = Quantity::from_units(i64::try_from(units).unwrap_or(i64::MAX));
    Ok(WrittenQuantity { amount, format })
}

fn divided_up(number: i128, by: i128) -> i128 {
    number / by + i128::from(number % by != 0)
}

fn exact_milli(amount: Quantity) -> Option<i128> {
    (amount.nanos() % MILLI == 0).then(|| amount.nanos() / MILLI)
}

/// The step in thousandths, if the range is computed in them.
fn milli_step(range: &ValidRange, followed: Followed) -> Option<i128> {
    if !followed.has(Gate::DRAFractionalCapacityRange) {
        return None;
    }
    let bounds = [range.min, range.max, range.step];
    let mut bounds = bounds.iter().flatten();
    if !bounds.all(|bound| exact_milli(bound.amount).is_some()) {
        return None;
    }
    range.step.and_then(|step| exact_milli(step.amount)).filter(|step| *step >= 1)
}

fn violates(amount: WrittenQuantity, policy: Option<&RequestPolicy>, followed: Followed) -> bool {
    let Some(policy) = policy else { return false };
    if policy.default.is_some_and(|default| default.amount == amount.amount) {
        return false;
    }
    if let Some(range) = &policy.valid_range {
        return is_outside(amount, range, followed);
    }
    policy.valid_values.as_ref().is_some_and(|values| {
        !values.is_empty() && values.iter().all(|value| value.amount != amount.amount)
    })
}

fn is_outside(amount: WrittenQuantity, range: &ValidRange, followed: Followed) -> bool {
    if range.max.is_some_and(|max| amount.amount > max.amount) {
        return true;
    }
    let Some(step) = range.step else { return false };
    let min = range.min.unwrap_or_default();
    if let Some(step) = milli_step(range, followed) {
        let Some(milli) = exact_milli(amount.amount) else { return true };
        return (milli - min.amount.nanos() / MILLI) % step != 0;
    }
    let whole = |written: WrittenQuantity| i128::from(written.amount.units_rounded_up());
    whole(step) != 0 && (whole(amount) - whole(min)) % whole(step) != 0
}
