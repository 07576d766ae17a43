//! The pools that a node sees: which slices count, in which order, and whether a pool is whole.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::model::{CounterSet, Device, ResourceSlice, SlicePlace};
use crate::release::{Followed, Gate};
use crate::rules::node_selection;
use crate::snapshot::devices_in_use::PoolUse;
use crate::snapshot::{Cluster, NodeView};

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
    pub(super) seen: Vec<&'a ResourceSlice>,
    /// The other slices of its generation.
    pub(super) others: Vec<&'a ResourceSlice>,
    /// Its devices that are allocated.
    pub(super) in_use: Option<&'a PoolUse>,
}

impl<'a> Pool<'a> {
    /// The counters that its devices share.
    pub(super) fn counter_sets(&self) -> impl Iterator<Item = &'a CounterSet> {
        self.slices().flat_map(|slice| slice.shared_counters.iter())
    }

    /// All devices, also those that the node does not see.
    pub(super) fn devices(&self) -> impl Iterator<Item = &'a Device> {
        self.slices().flat_map(|slice| slice.devices.iter())
    }

    fn slices(&self) -> impl Iterator<Item = &'a ResourceSlice> {
        self.seen.iter().chain(&self.others).copied()
    }

    fn has_binding_conditions(&self) -> bool {
        let mut devices = self.seen.iter().flat_map(|slice| slice.devices.iter());
        devices.any(|device| !device.binding_conditions.is_empty())
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

fn concerns(slice: &ResourceSlice, node: NodeView<'_>, followed: Followed) -> Result<bool, String> {
    if !followed.traits().repairs_allocator && !slice.shared_counters.is_empty() {
        return Ok(true);
    }
    let place = &slice.place;
    if place.node_name.is_some() || place.is_everywhere || place.selector.is_some() {
        return reaches(place, node).map_err(|why| {
            format!("failed to perform node selection for slice {}: {why}", slice.meta.name)
        });
    }
    if slice.is_per_device {
        for device in &slice.devices {
            let reached = reaches(&device.place, node).map_err(|why| {
                let (device, slice) = (&device.name, &slice.meta.name);
                format!(
                    "failed to perform node selection for device {device} in slice {slice}: {why}"
                )
            })?;
            if reached {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The pools in the order in which they are searched.
pub(super) fn gather<'a>(
    cluster: &'a Cluster,
    node: NodeView<'_>,
    followed: Followed,
) -> Result<Vec<Pool<'a>>, String> {
    let published = &cluster.objects().device_slices;
    let mut seen: BTreeMap<(&str, &str), Vec<&ResourceSlice>> = BTreeMap::new();
    for slice in published.for_node(&node.node.name, !followed.traits().repairs_allocator) {
        if slice.is_per_device && !followed.has(Gate::DRAPartitionableDevices) {
            continue;
        }
        if concerns(slice, node, followed)? {
            seen.entry((&slice.driver, &slice.pool)).or_default().push(slice);
        }
    }
    let mut pools: Vec<Pool<'_>> = Vec::with_capacity(seen.len());
    for ((driver, name), mut slices) in seen {
        let Some(generation) = slices.iter().map(|slice| slice.generation).max() else { continue };
        slices.retain(|slice| slice.generation == generation);
        slices.sort_by(|left, right| left.meta.name.cmp(&right.meta.name));
        let wanted = slices.first().map_or(0, |slice| slice.slice_count);
        let is_all_seen = count(&slices) == wanted;
        let mut others: Vec<&ResourceSlice> = Vec::new();
        if !is_all_seen {
            let all = published.in_pool(driver, name);
            if all.iter().any(|slice| slice.generation > generation) {
                // The driver is replacing it, and has nothing new for this node.
                continue;
            }
            let names: FxHashSet<&str> = slices.iter().map(|slice| &*slice.meta.name).collect();
            let is_other = |slice: &&ResourceSlice| {
                slice.generation == generation && !names.contains(&*slice.meta.name)
            };
            others = all.iter().map(AsRef::as_ref).filter(is_other).collect();
        }
        let is_whole = is_all_seen || count(&slices) + count(&others) == wanted;
        let in_use = cluster.objects().devices_in_use.pool(driver, name);
        let mut pool = Pool { driver, name, state: State::Whole, seen: slices, others, in_use };
        if !is_whole {
            pool.state = State::Incomplete;
        } else if contradicts_itself(&pool, followed) {
            pool.state = State::Invalid;
        }
        if pool.state != State::Whole {
            pool.seen.clear();
            pool.others.clear();
        }
        pools.push(pool);
    }
    // A stable sort: within both halves by driver and name.
    if followed.has_binding_conditions() {
        pools.sort_by_key(Pool::has_binding_conditions);
    }
    Ok(pools)
}

fn count(slices: &[&ResourceSlice]) -> i64 {
    i64::try_from(slices.len()).unwrap_or(i64::MAX)
}

/// Two devices or two counter sets of one name, or a device that takes of what there is not.
fn contradicts_itself(pool: &Pool<'_>, followed: Followed) -> bool {
    let mut names: FxHashSet<&str> = FxHashSet::default();
    let mut sets: FxHashSet<&str> = FxHashSet::default();
    let mut seen_devices = pool.seen.iter().flat_map(|slice| slice.devices.iter());
    if !seen_devices.all(|device| names.insert(&device.name)) {
        return true;
    }
    if !followed.has(Gate::DRAPartitionableDevices) {
        return false;
    }
    if !pool.counter_sets().all(|set| sets.insert(&set.name)) {
        return true;
    }
    let is_defined = |wanted: &CounterSet| {
        let set = pool.counter_sets().find(|set| set.name == wanted.name);
        set.is_some_and(|set| {
            let mut counters = wanted.counters.iter();
            counters.all(|(name, _)| set.counters.iter().any(|(have, _)| have == name))
        })
    };
    let mut consumed = pool
        .seen
        .iter()
        .flat_map(|slice| slice.devices.iter())
        .flat_map(|device| device.consumes.iter());
    !consumed.all(is_defined)
}
