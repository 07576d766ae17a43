//! Counters that the devices of a pool share.

use std::collections::BTreeMap;

use crate::model::CounterSet;
use crate::snapshot::device_rows::Row;

use super::pools::Pool;
use super::work::{COUNTER, DEVICE, DEVICES_IN_A_ROW, counters_of};

/// What a device that somebody has takes of counters is looked up, as long as so many are changed.
const TAKEN: usize = 4;

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
    pub(super) fn units(&self, pool: &Pool<'a>, consumes: &[CounterSet]) -> u64 {
        let own = 3 * counters_of(consumes);
        let (compared, devices) = match self.by_pool.get(&self.key(pool)) {
            Some(left) => (left.available.len(), 0),
            None => {
                let sets = pool.counter_sets().map(|set| set.counters.len());
                let of_devices = pool.rows_in_use().map(|row| TAKEN + counters_of(row.consumes()));
                let places = pool.places() / DEVICES_IN_A_ROW;
                (2 * sets.sum::<usize>() + of_devices.sum::<usize>(), places)
            }
        };
        (own + compared) as u64 * COUNTER + devices as u64 * DEVICE
    }

    /// Takes what a device consumes; `false`: some counter has too little left, and nothing is taken.
    pub(super) fn take(&mut self, pool: &Pool<'a>, consumes: &'a [CounterSet]) -> bool {
        let key = self.key(pool);
        let left = self.by_pool.entry(key).or_insert_with(|| Left::of(pool));
        add(&mut left.taken, consumes, 1);
        let fits = left.available.iter().all(|(counter, available)| {
            left.taken.get(counter).copied().unwrap_or_default() <= *available
        });
        if !fits {
            add(&mut left.taken, consumes, -1);
        }
        fits
    }

    pub(super) fn give_back(&mut self, pool: &Pool<'a>, consumes: &'a [CounterSet]) {
        let key = self.key(pool);
        if let Some(left) = self.by_pool.get_mut(&key) {
            add(&mut left.taken, consumes, -1);
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
        for set in pool.rows_in_use().flat_map(Row::consumes) {
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
