//! An index of slices of devices by the node that they name and by pool, with their columns, kept in step
//! with the objects.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Allocation, CounterSet, Device, Object, ResourceSlice};

use super::device_columns::{DeviceColumns, Together};
use super::device_rows::Columned;
use super::devices_in_use::DevicesInUse;
use super::objects::Replaced;

type Slices = Vec<Published>;

/// A slice, and what is found out about it once.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    pub(crate) slice: Arc<ResourceSlice>,
    /// It has two devices or two counter sets of one name, or a device that takes of what the slice
    /// has not.
    pub(crate) contradicts_itself: bool,
    pub(crate) has_binding_conditions: bool,
    /// All slices of a pool have the same one.
    pool: Arc<PoolName>,
    /// Of its columns.
    number: usize,
}

impl Published {
    fn new(slice: &Arc<ResourceSlice>, pool: Arc<PoolName>, number: usize) -> Self {
        let devices = || slice.devices.iter();
        Self {
            contradicts_itself: contradict(devices(), || slice.shared_counters.iter()),
            has_binding_conditions: devices().any(|device| !device.binding_conditions.is_empty()),
            slice: Arc::clone(slice),
            pool,
            number,
        }
    }

    pub(crate) fn is_of_pool_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool)
    }

    /// By driver and pool. Of one pool, their names are not read: those of each node are elsewhere in memory.
    pub(crate) fn cmp_pools(&self, other: &Self) -> Ordering {
        if self.is_of_pool_of(other) { Ordering::Equal } else { self.pool.cmp(&other.pool) }
    }
}

/// Whether two devices or two counter sets have one name, or a device takes of what there is not.
pub(crate) fn contradict<'a, S: Iterator<Item = &'a CounterSet>>(
    devices: impl Iterator<Item = &'a Device> + Clone,
    sets: impl Fn() -> S,
) -> bool {
    let mut set_names = FxHashSet::default();
    let is_defined = |wanted: &CounterSet| {
        let set = sets().find(|set| set.name == wanted.name);
        set.is_some_and(|set| {
            let mut counters = wanted.counters.iter();
            counters.all(|(name, _)| set.counters.iter().any(|(have, _)| have == name))
        })
    };
    share_a_name(devices.clone())
        || !sets().all(|set| set_names.insert(&*set.name))
        || !devices.flat_map(|device| device.consumes.iter()).all(is_defined)
}

/// Whether two devices have one name.
pub(crate) fn share_a_name<'a>(mut devices: impl Iterator<Item = &'a Device>) -> bool {
    let mut names = FxHashSet::default();
    !devices.all(|device| names.insert(&*device.name))
}

#[derive(Debug, Default)]
pub(crate) struct DeviceSlices {
    by_node: FxHashMap<Box<str>, Slices>,
    /// Those that name no node.
    elsewhere: Slices,
    /// Those that name a node and have counters, by pool, where these mean something for other nodes
    /// too.
    counting: BTreeMap<PoolName, Slices>,
    by_pool: FxHashMap<PoolName, Slices>,
    columns: DeviceColumns,
}

/// Of pools with more slices it is not found out with each change, nor noted which devices are in use.
const SLICES_COMPARED_MAX: usize = 8;

/// Driver and name.
type PoolName = (Box<str>, Box<str>);

impl DeviceSlices {
    /// Slices that may concern a node, and whether they name it; with `all_counters` also those with
    /// counters of other nodes, as far as they mean anything for it.
    pub(crate) fn for_node(
        &self,
        node: &str,
        all_counters: bool,
    ) -> impl Iterator<Item = (&Published, bool)> {
        let own = self.by_node.get(node).into_iter().flatten();
        let others =
            self.counting.values().flatten().filter(move |one| {
                all_counters && one.slice.place.node_name.as_deref() != Some(node)
            });
        let elsewhere = self.elsewhere.iter().chain(others);
        own.map(|one| (one, true)).chain(elsewhere.map(|one| (one, false)))
    }

    /// Slices that name a node.
    pub(crate) fn of_node(&self, node: &str) -> Option<&[Published]> {
        self.by_node.get(node).map(Vec::as_slice)
    }

    /// Whether all slices that name a node are of the newest generation of their pools on the node.
    pub(crate) fn are_current(&self, node: &str) -> bool {
        let own = self.of_node(node).unwrap_or_default();
        let is_older = |one: &Published, other: &Published| {
            one.is_of_pool_of(other) && one.slice.generation < other.slice.generation
        };
        !own.iter().any(|one| own.iter().any(|other| is_older(one, other)))
    }

    /// A slice with its columns.
    pub(crate) fn columned<'a>(&'a self, one: &'a Published) -> Columned<'a> {
        Columned::new(&one.slice, self.columns.get(one.number))
    }

    /// Slices that name no node.
    pub(super) fn elsewhere(&self) -> &[Published] {
        &self.elsewhere
    }

    /// Whether counters of any slice mean something for nodes that it does not name.
    pub(super) fn has_counters_for_others(&self) -> bool {
        let mut elsewhere = self.elsewhere.iter();
        !self.counting.is_empty() || elsewhere.any(|one| !one.slice.shared_counters.is_empty())
    }

    /// Among how many nodes at most the work of looking at slices is shared, of so many.
    pub(crate) fn nodes_reached(&self, nodes: usize, all_counters: bool) -> usize {
        let is_everywhere =
            !self.elsewhere.is_empty() || (all_counters && !self.counting.is_empty());
        if is_everywhere { nodes } else { self.by_node.len().min(nodes) }
    }

    /// All slices of a pool, of every generation.
    pub(crate) fn in_pool(&self, driver: &str, pool: &str) -> &[Published] {
        self.by_pool.get(&(driver.into(), pool.into())).map_or(&[], Vec::as_slice)
    }

    /// Whether the pool of a slice contradicts itself; `None`: not known, or some of its slices are not
    /// among so many.
    pub(crate) fn contradicts_itself(&self, one: &Published, slices: usize) -> Option<bool> {
        let together = self.columns.get(one.number).together?;
        (together.slices == slices).then_some(together.contradict)
    }

    /// `in_use`: with the change.
    pub(super) fn follow(&mut self, replaced: &Replaced, in_use: &DevicesInUse) {
        let allocation = |object: &Option<Object>| match object {
            Some(Object::ResourceClaim(claim)) => claim.allocation.clone(),
            _ => None,
        };
        let (old, new) = (allocation(&replaced.old), allocation(&replaced.new));
        if old != new {
            [old, new].iter().flatten().for_each(|changed| self.follow_use(changed, in_use));
        }
        if let Some(Object::ResourceSlice(old)) = &replaced.old {
            let pool = (old.driver.clone(), old.pool.clone());
            let mut published = self.in_pool(&pool.0, &pool.1).iter();
            if let Some(gone) = published.find(|have| have.slice.meta.name == old.meta.name) {
                let number = gone.number;
                self.columns.remove(number);
            }
            let forget = |slices: &mut Slices| {
                slices.retain(|have| have.slice.meta.name != old.meta.name);
                slices.is_empty()
            };
            if let Some(node) = &old.place.node_name {
                if self.by_node.get_mut(node).is_some_and(forget) {
                    self.by_node.remove(node);
                }
            } else {
                forget(&mut self.elsewhere);
            }
            if self.by_pool.get_mut(&pool).is_some_and(forget) {
                self.by_pool.remove(&pool);
            }
            self.follow_pool(&pool, in_use);
        }
        if let Some(Object::ResourceSlice(slice)) = &replaced.new {
            let pool = (slice.driver.clone(), slice.pool.clone());
            let of_pool = self.by_pool.get(&pool).and_then(|all| all.first());
            let shared = of_pool.map_or_else(|| pool.clone().into(), |one| Arc::clone(&one.pool));
            let new = Published::new(slice, shared, self.columns.add(slice));
            match &slice.place.node_name {
                Some(node) => self.by_node.entry(node.clone()).or_default().push(new.clone()),
                None => self.elsewhere.push(new.clone()),
            }
            self.by_pool.entry(pool.clone()).or_default().push(new);
            self.follow_pool(&pool, in_use);
        }
    }

    /// An allocation has devices, or has them no longer.
    fn follow_use(&mut self, changed: &Allocation, in_use: &DevicesInUse) {
        let mut by_pool: BTreeMap<(&str, &str), FxHashSet<&str>> = BTreeMap::new();
        for device in changed.devices.iter().filter(|device| !device.is_admin) {
            let pool = (&*device.driver, &*device.pool);
            by_pool.entry(pool).or_default().insert(&device.device);
        }
        for ((driver, pool), names) in by_pool {
            let Some(all) = self.by_pool.get(&(driver.into(), pool.into())) else { continue };
            if all.len() > SLICES_COMPARED_MAX {
                continue;
            }
            let used = in_use.pool(driver, pool);
            for Published { slice, number, .. } in all {
                self.columns.note_use((slice, *number), used, |name| names.contains(name));
            }
        }
    }

    fn follow_pool(&mut self, pool: &PoolName, in_use: &DevicesInUse) {
        let all = self.by_pool.get(pool).map_or(&[][..], Vec::as_slice);
        let notes_use = all.len() <= SLICES_COMPARED_MAX;
        for Published { slice, number, .. } in all {
            if !self.columns.set_notes_use(*number, notes_use) && notes_use {
                let used = in_use.pool(&pool.0, &pool.1);
                self.columns.note_use((slice, *number), used, |_| true);
            }
        }
        let generation = all.first().map(|one| one.slice.generation);
        let is_current = |one: &Published| Some(one.slice.generation) == generation;
        let is_compared = (2..=SLICES_COMPARED_MAX).contains(&all.len());
        let together = (is_compared && all.iter().all(is_current)).then(|| {
            let devices = all.iter().flat_map(|one| one.slice.devices.iter());
            let sets = || all.iter().flat_map(|one| one.slice.shared_counters.iter());
            Together { slices: all.len(), contradict: contradict(devices, sets) }
        });
        all.iter().for_each(|one| self.columns.set_together(one.number, together));
        let is_counting = |one: &&Published| {
            one.slice.place.node_name.is_some() && !one.slice.shared_counters.is_empty()
        };
        let counting: Slices = match is_nothing_elsewhere(all) {
            true => Vec::new(),
            false => all.iter().filter(is_counting).cloned().collect(),
        };
        if counting.is_empty() {
            self.counting.remove(pool);
        } else {
            self.counting.insert(pool.clone(), counting);
        }
    }
}

/// Whether slices with counters of this pool mean nothing for nodes that they do not name, also where
/// these see them, as 1.36 has it: the pool is whole and does not contradict itself, and all of its
/// devices are in slices that name one node.
fn is_nothing_elsewhere(pool: &[Published]) -> bool {
    let Some(first) = pool.first().map(|one| &one.slice) else { return true };
    let is_like_first = |one: &Published| {
        let slice = &one.slice;
        slice.place.node_name.is_some()
            && slice.place.node_name == first.place.node_name
            && (slice.generation, slice.slice_count) == (first.generation, first.slice_count)
            && (slice.devices.is_empty() || slice.shared_counters.is_empty())
    };
    let sets = || pool.iter().flat_map(|one| one.slice.shared_counters.iter());
    usize::try_from(first.slice_count).is_ok_and(|count| count == pool.len())
        && pool.iter().all(is_like_first)
        && !contradict(std::iter::empty(), sets)
}
