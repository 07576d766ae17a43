//! The pools that a node sees: which slices count, in which order, and whether a pool is whole.

use rustc_hash::FxHashSet;

use crate::model::{CounterSet, Device, ResourceSlice, SlicePlace};
use crate::release::{Followed, Gate};
use crate::rules::node_selection;
use crate::snapshot::device_rows::{Columned, Held, Row};
use crate::snapshot::device_slices::{DeviceSlices, Published, contradict, share_a_name};
use crate::snapshot::device_taint_rules::Rules;
use crate::snapshot::devices_in_use::{InUseWithout, PoolUse};
use crate::snapshot::{Cluster, NodeView};

use super::search::Stop;
use super::work::{self, DEVICE, DEVICES_IN_A_ROW, NAME, REACHING, SLICE, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its devices can be allocated.
    Whole,
    /// Not all slices of its generation are published.
    Incomplete,
    /// It contradicts itself.
    Invalid,
}

/// A pool as a node sees it.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub(super) driver: &'a str,
    pub(super) name: &'a str,
    pub(super) state: State,
    /// The slices that concern the node, by name; none if the pool is not whole.
    pub(super) seen: Vec<Columned<'a>>,
    /// The other slices of its generation.
    pub(super) others: Vec<Columned<'a>>,
    /// Its devices that are allocated.
    pub(super) in_use: Option<&'a PoolUse>,
    /// Some of its devices are supposed to be free, whatever is noted of them.
    is_supposed: bool,
    /// Rules that may taint its devices.
    pub(super) taint_rules: Rules<'a>,
    /// Some device that the node sees has them.
    has_binding_conditions: bool,
}

impl<'a> Pool<'a> {
    /// The counters that its devices share.
    pub(super) fn counter_sets(&self) -> impl Iterator<Item = &'a CounterSet> {
        self.slices().flat_map(|own| own.slice.shared_counters.iter())
    }

    /// All devices, also those that the node does not see.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        self.slices().flat_map(Columned::rows)
    }

    /// Those of its devices that somebody has something of.
    pub(super) fn rows_in_use(&self) -> impl Iterator<Item = Row<'a>> {
        let is_supposed = self.is_supposed;
        let is_held = move |row: &Row<'_>, pool: &PoolUse| match is_supposed {
            true => matches!(row.held(pool, true), Held::Known(Some(_))),
            false => row.is_held(pool),
        };
        let pool = self.in_use.filter(|pool| !pool.is_empty());
        let all = pool.map(|pool| self.rows().filter(move |row| is_held(row, pool)));
        all.into_iter().flatten()
    }

    /// Who has something of one of its devices.
    pub(super) fn held(&self, row: Row<'a>) -> Held<'a> {
        let pool = self.in_use.filter(|pool| !pool.is_empty());
        pool.map_or(Held::Known(None), |pool| row.held(pool, self.is_supposed))
    }

    fn slices(&self) -> impl Iterator<Item = Columned<'a>> {
        self.seen.iter().chain(&self.others).copied()
    }

    /// How many devices the node sees.
    pub(super) fn places(&self) -> usize {
        self.seen.iter().map(|own| own.slice.devices.len()).sum()
    }

    /// What listing its devices takes.
    pub(super) fn units_of_places(&self) -> u64 {
        let places = self.places();
        let is_used = self.in_use.is_some_and(|pool| !pool.is_empty());
        if is_used { places as u64 * DEVICE } else { (places / DEVICES_IN_A_ROW) as u64 }
    }

    /// Two devices that the node sees, or two counter sets, have one name, or a device takes of what
    /// there is not. Counters mean nothing without their gate.
    fn contradicts_itself(&self, has_counters: bool) -> bool {
        let seen = self.seen.iter().flat_map(|own| own.slice.devices.iter());
        if has_counters { contradict(seen, || self.counter_sets()) } else { share_a_name(seen) }
    }

    /// What finding that out takes.
    fn units_of_contradictions(&self) -> u64 {
        let sets: usize = self.counter_sets().map(|set| 1 + set.counters.len()).sum::<usize>() / 4;
        let devices = self.seen.iter().flat_map(|own| own.slice.devices.iter());
        let of_device =
            |device: &Device| NAME + (work::counters_of(&device.consumes) * sets) as u64;
        devices.map(of_device).sum::<u64>() + sets as u64 * NAME
    }
}

/// Whether a node reaches what is published for this place.
pub(super) fn reaches(place: &SlicePlace, node: NodeView<'_>) -> Result<bool, String> {
    if let Some(name) = &place.node_name {
        return Ok(**name == *node.node.name);
    }
    if place.is_everywhere {
        return Ok(true);
    }
    let Some(written) = &place.selector else { return Ok(false) };
    let mut terms = written.selector.terms.iter();
    if !terms.all(node_selection::can_be_parsed) {
        return Err(format!("failed to parse node selector {}", written.text));
    }
    let (labels, name) = (&node.node.object.meta.labels, &node.node.name);
    Ok(node_selection::selects(&written.selector, labels, name))
}

/// Whether a slice counts for a node. `is_own`: it names the node.
fn concerns(
    (slice, is_own): (&ResourceSlice, bool),
    node: NodeView<'_>,
    followed: Followed,
    units: &mut Work,
) -> Result<bool, Stop> {
    if is_own {
        units.charge(REACHING)?;
        return Ok(true);
    }
    units.charge(work::of_place(&slice.place))?;
    let failed = |why: String| Stop::Fatal(format!("gather pool information: {why}"));
    if !followed.traits().repairs_allocator && !slice.shared_counters.is_empty() {
        return Ok(true);
    }
    let place = &slice.place;
    if place.node_name.is_some() || place.is_everywhere || place.selector.is_some() {
        return reaches(place, node).map_err(|why| {
            let name = &slice.meta.name;
            failed(format!("failed to perform node selection for slice {name}: {why}"))
        });
    }
    if slice.is_per_device {
        for device in &slice.devices {
            units.charge(work::of_place(&device.place))?;
            let reached = reaches(&device.place, node).map_err(|why| {
                let (device, slice) = (&device.name, &slice.meta.name);
                failed(format!(
                    "failed to perform node selection for device {device} in slice {slice}: {why}"
                ))
            })?;
            if reached {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The slices that count for a node, those of a pool together, and pools in the order of their names.
fn slices_seen<'a>(
    published: &'a DeviceSlices,
    node: NodeView<'_>,
    followed: Followed,
    units: &mut Work,
) -> Result<Vec<&'a Published>, Stop> {
    let mut seen: Vec<&Published> = Vec::new();
    let all_counters = !followed.traits().repairs_allocator;
    for (one, is_own) in published.for_node(&node.node.name, all_counters) {
        if one.slice.is_per_device && !followed.has(Gate::DRAPartitionableDevices) {
            continue;
        }
        if concerns((&one.slice, is_own), node, followed, units)? {
            units.charge(SLICE)?;
            seen.push(one);
        }
    }
    seen.sort_by(|left, right| left.cmp_pools(right));
    Ok(seen)
}

/// The pools in the order in which they are searched.
pub(super) fn gather<'a>(
    (cluster, in_use): (&'a Cluster, &'a InUseWithout),
    node: NodeView<'_>,
    followed: Followed,
    units: &mut Work,
) -> Result<Vec<Pool<'a>>, Stop> {
    let published = &cluster.objects().device_slices;
    let held = &cluster.objects().devices_in_use;
    let seen = slices_seen(published, node, followed, units)?;
    let mut pools: Vec<Pool<'_>> = Vec::new();
    for of_pool in seen.chunk_by(|left, right| left.is_of_pool_of(right)) {
        let Some(newest) = of_pool.iter().max_by_key(|one| one.slice.generation) else { continue };
        let (driver, name, generation) =
            (&*newest.slice.driver, &*newest.slice.pool, newest.slice.generation);
        let is_newest = |one: &&Published| one.slice.generation == generation;
        let mut found: Vec<&Published> = of_pool.iter().copied().filter(is_newest).collect();
        found.sort_by(|left, right| left.slice.meta.name.cmp(&right.slice.meta.name));
        let has_binding_conditions = found.iter().any(|one| one.has_binding_conditions);
        let slices: Vec<Columned<'_>> = found.iter().map(|one| published.columned(one)).collect();
        let wanted = slices.first().map_or(0, |own| own.slice.slice_count);
        let is_all_seen = count(&slices) == wanted;
        let mut others: Vec<Columned<'_>> = Vec::new();
        if !is_all_seen {
            let all = published.in_pool(driver, name);
            units.charge_each(all.len(), SLICE)?;
            if all.iter().any(|one| one.slice.generation > generation) {
                // The driver is replacing it, and has nothing new for this node.
                continue;
            }
            let names: FxHashSet<&str> = slices.iter().map(|own| &*own.slice.meta.name).collect();
            let is_other = |one: &&Published| {
                one.slice.generation == generation && !names.contains(&*one.slice.meta.name)
            };
            let of_pool = all.iter().filter(is_other);
            others = of_pool.map(|one| published.columned(one)).collect();
        }
        let is_whole = is_all_seen || count(&slices) + count(&others) == wanted;
        let is_supposed = in_use.concerns(driver, name);
        let in_use = in_use.pool(held, driver, name);
        let (state, seen) = (State::Whole, slices);
        let rules = &cluster.objects().rules_of_taints;
        let taint_rules = match followed.has_taint_rules() {
            true => rules.of_pool(name),
            false => Rules::default(),
        };
        let mut pool = Pool {
            driver,
            name,
            state,
            seen,
            others,
            in_use,
            is_supposed,
            taint_rules,
            has_binding_conditions,
        };
        let has_counters = followed.has(Gate::DRAPartitionableDevices);
        let is_known = match found.as_slice() {
            _ if !pool.others.is_empty() || !has_counters => None,
            [only] => Some(only.contradicts_itself),
            [first, ..] => {
                units.charge(SLICE)?;
                published.contradicts_itself(first, found.len())
            }
            [] => None,
        };
        debug_assert!(
            is_known.is_none_or(|known| known == pool.contradicts_itself(has_counters)),
            "what is known of the pool {driver}/{name} is not so"
        );
        if is_whole {
            let contradicts = match is_known {
                Some(contradicts) => contradicts,
                None => {
                    units.charge(pool.units_of_contradictions())?;
                    pool.contradicts_itself(has_counters)
                }
            };
            if contradicts {
                pool.state = State::Invalid;
            }
        } else {
            pool.state = State::Incomplete;
        }
        if pool.state != State::Whole {
            pool.seen.clear();
            pool.others.clear();
            pool.has_binding_conditions = false;
        }
        pools.push(pool);
    }
    // A stable sort: within both halves by driver and name.
    if followed.has_binding_conditions() {
        pools.sort_by_key(|pool| pool.has_binding_conditions);
    }
    Ok(pools)
}

fn count(slices: &[Columned<'_>]) -> i64 {
    i64::try_from(slices.len()).unwrap_or(i64::MAX)
}
