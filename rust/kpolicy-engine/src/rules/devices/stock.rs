//! What a node has of devices, what others leave of it, and what an allocation leaves of that.
//!
//! A *whole* is a counter set that devices share, or a device that takes of none: something that one
//! allocation can break for others. Taints and selectors do not count.

use std::collections::BTreeMap;

use crate::model::CounterSet;
use crate::release::Gate;

use super::attempt::{Attempt, Candidate};
use super::pools::State;
use super::work::{COUNTER, DEVICE, DEVICES_IN_A_ROW, TooMuch, Work, counters_of};

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Wholes of which nobody has anything.
    pub(crate) whole: i64,
    /// Devices of which each by itself can be given to a claim.
    pub(crate) devices: i64,
}

#[derive(Debug)]
struct Counter {
    set: usize,
    total: i128,
    left: i128,
}

#[derive(Debug, Default)]
struct Set {
    is_whole: bool,
    /// The places of the devices that take of it.
    takers: Vec<usize>,
}

#[derive(Debug, Default)]
struct Own {
    /// What it takes of which counters.
    takes: Vec<(usize, i128)>,
    is_left: bool,
}

/// What a node has before an allocation.
#[derive(Debug)]
pub(super) struct Stock {
    pub(super) all: Count,
    pub(super) before: Count,
    counters: Vec<Counter>,
    sets: Vec<Set>,
    /// By place.
    devices: Vec<Own>,
}

/// What it has after one.
#[derive(Debug)]
pub(super) struct After {
    pub(super) left: Count,
    /// By place, which devices.
    is_left: Vec<bool>,
    /// By counter.
    counters: Vec<i128>,
}

impl Stock {
    /// What making it takes.
    pub(super) fn units(attempt: &Attempt<'_>) -> u64 {
        let pools = attempt.pools.iter().filter(|pool| pool.state == State::Whole);
        let devices = pools.flat_map(|pool| {
            let sets: usize = pool.counter_sets().map(|set| set.counters.len()).sum();
            let of_devices = pool.rows().map(|row| 1 + counters_of(row.consumes()));
            [sets, of_devices.sum()]
        });
        let uses = attempt.candidates.iter().map(Candidate::units_of_use);
        devices.sum::<usize>() as u64 * COUNTER + uses.sum::<u64>()
    }

    pub(super) fn of(attempt: &Attempt<'_>) -> Self {
        let mut stock = Self {
            all: Count::default(),
            before: Count::default(),
            counters: Vec::new(),
            sets: Vec::new(),
            devices: Vec::with_capacity(attempt.candidates.len()),
        };
        let mut first = 0;
        for pool in attempt.pools.iter().filter(|pool| pool.state == State::Whole) {
            let mut names: BTreeMap<(&str, &str), usize> = BTreeMap::new();
            for set in pool.counter_sets() {
                for (name, amount) in &set.counters {
                    names.insert((&set.name, name), stock.counters.len());
                    let (total, set) = (amount.amount.nanos(), stock.sets.len());
                    stock.counters.push(Counter { set, total, left: total });
                }
                stock.sets.push(Set { is_whole: true, takers: Vec::new() });
            }
            let takes = |consumes: &[CounterSet]| -> Vec<(usize, i128)> {
                let sets = consumes.iter();
                let each = sets.flat_map(|set| set.counters.iter().map(move |own| (set, own)));
                let found = each.filter_map(|(set, (name, amount))| {
                    Some((*names.get(&(&*set.name, &**name))?, amount.amount.nanos()))
                });
                found.collect()
            };
            for row in pool.rows_in_use() {
                for (counter, amount) in takes(row.consumes()) {
                    stock.take(counter, amount);
                }
            }
            let end = first + pool.places();
            let seen = attempt.candidates.get(first..end).unwrap_or_default();
            let owns = seen.iter().map(|own| takes(own.row.consumes()));
            stock.devices.extend(owns.map(|takes| Own { takes, is_left: false }));
            first = end;
        }
        stock.count(attempt);
        stock
    }

    fn take(&mut self, counter: usize, amount: i128) {
        let Some(own) = self.counters.get_mut(counter) else { return };
        own.left -= amount;
        if let Some(set) = self.sets.get_mut(own.set) {
            set.is_whole = false;
        }
    }

    fn count(&mut self, attempt: &Attempt<'_>) {
        let lefts: Vec<i128> = self.counters.iter().map(|counter| counter.left).collect();
        let has_counters = attempt.followed.has(Gate::DRAPartitionableDevices);
        for (place, candidate) in attempt.candidates.iter().enumerate() {
            let Some(own) = self.devices.get_mut(place) else { continue };
            let is_whole = own.takes.is_empty() && is_whole(candidate);
            own.is_left = (own.takes.is_empty() || has_counters)
                && !attempt.is_used_up(candidate)
                && (is_shared_already(attempt, candidate) || fits(&own.takes, &lefts))
                && has_shares(attempt, candidate, None);
            self.before.devices += i64::from(own.is_left);
            self.before.whole += i64::from(is_whole);
            self.all.devices += 1;
            self.all.whole += i64::from(own.takes.is_empty());
            for (counter, _) in &own.takes {
                let set = self.counters.get(*counter).map(|counter| counter.set);
                let Some(set) = set.and_then(|set| self.sets.get_mut(set)) else { continue };
                if set.takers.last() != Some(&place) {
                    set.takers.push(place);
                }
            }
        }
        for set in self.sets.iter().filter(|set| !set.takers.is_empty()) {
            self.all.whole += 1;
            self.before.whole += i64::from(set.is_whole);
        }
    }

    /// What is left once the attempt's devices are given.
    pub(super) fn after(&self, attempt: &Attempt<'_>, work: &mut Work) -> Result<After, TooMuch> {
        let copied = (self.devices.len() + self.counters.len()) / DEVICES_IN_A_ROW;
        work.charge(copied as u64)?;
        let mut after = After {
            left: self.before,
            is_left: self.devices.iter().map(|own| own.is_left).collect(),
            counters: self.counters.iter().map(|counter| counter.left).collect(),
        };
        let mut touched: Vec<usize> = Vec::new();
        let mut given: Vec<usize> = Vec::new();
        for chosen in attempt.chosen.iter().flatten() {
            let request = attempt.requests.get(chosen.request);
            let (Some(own), Some(candidate)) =
                (self.devices.get(chosen.place), attempt.candidate(chosen.place))
            else {
                continue;
            };
            if request.is_none_or(|request| request.ask.is_admin) || given.contains(&chosen.place) {
                continue;
            }
            given.push(chosen.place);
            if own.takes.is_empty() && is_whole(candidate) {
                after.left.whole -= 1;
            }
            let is_left = chosen.consumed.is_some()
                && has_shares(attempt, candidate, attempt.marks.shares(chosen.place));
            after.set(chosen.place, is_left);
            if is_shared_already(attempt, candidate) {
                continue;
            }
            for (counter, amount) in &own.takes {
                if let Some(left) = after.counters.get_mut(*counter) {
                    *left -= amount;
                }
                let set = self.counters.get(*counter).map(|counter| counter.set);
                if let Some(set) = set
                    && !touched.contains(&set)
                {
                    touched.push(set);
                }
            }
        }
        for set in touched.iter().filter_map(|set| self.sets.get(*set)) {
            after.left.whole -= i64::from(set.is_whole);
            for place in &set.takers {
                let Some(own) = self.devices.get(*place) else { continue };
                work.charge(DEVICE + (own.takes.len() / DEVICES_IN_A_ROW) as u64)?;
                // What shares a device has paid for its counters.
                if !given.contains(place) && !fits(&own.takes, &after.counters) {
                    let is_paid = attempt
                        .candidate(*place)
                        .is_some_and(|candidate| is_shared_already(attempt, candidate));
                    after.set(*place, is_paid && own.is_left);
                }
            }
        }
        Ok(after)
    }

    /// Of a device that is given: how many others of its pool can still be, and which share is left of
    /// what it is a partition of, or of its own capacity if it is given in shares.
    pub(super) fn left_beside(
        &self,
        attempt: &Attempt<'_>,
        candidate: &Candidate<'_>,
        place: usize,
        after: &After,
    ) -> (i64, f64) {
        let others = attempt.candidates.iter().zip(&after.is_left);
        let of_pool = others.filter(|(other, is_left)| **is_left && other.pool == candidate.pool);
        let takes = self.devices.get(place).map(|own| &*own.takes).unwrap_or_default();
        let set_of = |counter: &usize| self.counters.get(*counter).map(|counter| counter.set);
        let sets: Vec<usize> = takes.iter().filter_map(|(counter, _)| set_of(counter)).collect();
        let counters = self.counters.iter().zip(&after.counters);
        let of_sets = counters.filter(|(counter, _)| sets.contains(&counter.set));
        let of_partition: Vec<(i128, i128)> = match sets.is_empty() {
            false => of_sets.map(|(counter, left)| (*left, counter.total)).collect(),
            true if attempt.is_shared(candidate.row) => {
                shares_left(candidate, attempt.marks.shares(place)).collect()
            }
            true => Vec::new(),
        };
        (i64::try_from(of_pool.count()).unwrap_or(i64::MAX), mean(&of_partition))
    }
}

impl After {
    fn set(&mut self, place: usize, is_left: bool) {
        let Some(cell) = self.is_left.get_mut(place) else { return };
        self.left.devices += i64::from(is_left) - i64::from(*cell);
        *cell = is_left;
    }
}

/// The mean share that is left, of what is left and what there is in all.
#[expect(clippy::cast_precision_loss, reason = "a share is not exact anyway")]
fn mean(amounts: &[(i128, i128)]) -> f64 {
    let shares = amounts.iter().filter(|(_, total)| *total > 0);
    let (sum, count) = shares.fold((0.0, 0.0), |(sum, count), (left, total)| {
        (sum + *left as f64 / *total as f64, count + 1.0)
    });
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Nobody has anything of it.
fn is_whole(candidate: &Candidate<'_>) -> bool {
    !candidate.is_held()
}

/// Others have shares of it, so that its counters are taken already.
fn is_shared_already(attempt: &Attempt<'_>, candidate: &Candidate<'_>) -> bool {
    attempt.is_shared(candidate.row) && candidate.in_use().is_some_and(|own| own.consumers > 0)
}

fn fits(takes: &[(usize, i128)], left: &[i128]) -> bool {
    takes.iter().all(|(counter, amount)| left.get(*counter).is_some_and(|left| amount <= left))
}

/// What shares take, by capacity, in nanos.
type Shares = BTreeMap<Box<str>, i128>;

/// What shares leave of each capacity, those that the attempt gives among them, and all of it.
fn shares_left<'c>(
    candidate: &'c Candidate<'_>,
    given: Option<&'c Shares>,
) -> impl Iterator<Item = (i128, i128)> {
    let in_use = candidate.in_use();
    candidate.row.capacity().iter().map(move |(name, capacity)| {
        let amount = |shares: Option<&Shares>| {
            shares.and_then(|shares| shares.get(name)).copied().unwrap_or_default()
        };
        let used = amount(in_use.map(|own| &own.consumed));
        let total = capacity.value.amount.nanos();
        (total - used - amount(given), total)
    })
}

/// Whether something of each capacity is left of a device that is given in shares.
fn has_shares(attempt: &Attempt<'_>, candidate: &Candidate<'_>, given: Option<&Shares>) -> bool {
    !attempt.is_shared(candidate.row)
        || shares_left(candidate, given).all(|(left, total)| total == 0 || left > 0)
}
