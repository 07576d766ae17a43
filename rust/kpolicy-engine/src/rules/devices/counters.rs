//! Counters that the devices of a pool share.

use std::collections::BTreeMap;

use crate::model::{CounterSet, Device};
use crate::snapshot::devices_in_use::DeviceUse;

use super::pools::Pool;
use super::work::{COUNTER, DEVICE, counters_of};

/// By counter set and counter, in nanos.
type Amounts<'a> = BTreeMap<(&'a str, &'a str), i128>;

/// What is left of the counters of each pool, and what an attempt takes of them.
#[derive(Debug)]
pub(super) struct Counters<'a> {
    /// Pools are told apart by their drivers too.
    repairs: bool,
    by_pool: BTreeMap<(&'a str, &'a str), Left<'a>>,
}

#[derive(Debug, Default)]
struct Left<'a> {
    available: Amounts<'a>,
    taken: Amounts<'a>,
}

impl<'a> Counters<'a> {
    pub(super) fn new(repairs: bool) -> Self {
        Self { repairs, by_pool: BTreeMap::new() }
    }

    /// 1.36 takes pools of one name for one pool, whatever their drivers are.
    fn key(&self, pool: &Pool<'a>) -> (&'a str, &'a str) {
        (if self.repairs { pool.driver } else { "" }, pool.name)
    }

    /// What taking what a device consumes takes, and giving it back.
    pub(super) fn units(&self, pool: &Pool<'a>, device: &Device) -> u64 {
        let own = 3 * counters_of(device);
        let (compared, devices) = match self.by_pool.get(&self.key(pool)) {
            Some(left) => (left.available.len(), 0),
            None => {
                let sets = pool.counter_sets().map(|set| set.counters.len());
                let of_devices = pool.devices().map(|device| 4 + counters_of(device));
                (2 * sets.sum::<usize>(), of_devices.sum())
            }
        };
        (own + compared) as u64 * COUNTER + devices as u64 * DEVICE
    }

    /// Takes what a device consumes; `false`: some counter has too little left, and nothing is taken.
    pub(super) fn take(&mut self, pool: &Pool<'a>, device: &'a Device) -> bool {
        let key = self.key(pool);
        let left = self.by_pool.entry(key).or_insert_with(|| Left::of(pool));
        add(&mut left.taken, &device.consumes, 1);
        let fits = left.available.iter().all(|(counter, available)| {
            left.taken.get(counter).copied().unwrap_or_default() <= *available
        });
        if !fits {
            add(&mut left.taken, &device.consumes, -1);
        }
        fits
    }

    pub(super) fn give_back(&mut self, pool: &Pool<'a>, device: &'a Device) {
        let key = self.key(pool);
        if let Some(left) = self.by_pool.get_mut(&key) {
            add(&mut left.taken, &device.consumes, -1);
        }
    }
}

impl<'a> Left<'a> {
    /// What allocated devices of the pool leave, wherever these are seen.
    fn of(pool: &Pool<'a>) -> Self {
        let mut available = Amounts::new();
        for set in pool.counter_sets() {
            for (name, amount) in &set.counters {
                available.insert((&set.name, name), amount.amount.nanos());
            }
        }
        let allocated = pool.devices().filter(|device| {
            pool.in_use
                .and_then(|pool| pool.get(&*device.name))
                .is_some_and(DeviceUse::is_allocated)
        });
        for set in allocated.flat_map(|device| device.consumes.iter()) {
            for (name, amount) in &set.counters {
                if let Some(left) = available.get_mut(&(&*set.name, &**name)) {
                    *left -= amount.amount.nanos();
                }
            }
        }
        Self { available, taken: Amounts::new() }
    }
}

fn add<'a>(amounts: &mut Amounts<'a>, sets: &'a [CounterSet], sign: i128) {
    for set in sets {
        for (name, amount) in &set.counters {
            *amounts.entry((&set.name, name)).or_default() += sign * amount.amount.nanos();
        }
    }
}
