//! An index of slices of devices by the node that they name and by pool, kept in step with the
//! objects.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{CounterSet, Device, Object, ResourceSlice};

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
}

impl Published {
    fn new(slice: &Arc<ResourceSlice>) -> Self {
        let devices = || slice.devices.iter();
        Self {
            contradicts_itself: contradict(devices(), || slice.shared_counters.iter()),
            has_binding_conditions: devices().any(|device| !device.binding_conditions.is_empty()),
            slice: Arc::clone(slice),
        }
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
    /// Those that name a node and have counters.
    counting: Slices,
    by_pool: FxHashMap<(Box<str>, Box<str>), Slices>,
}

impl DeviceSlices {
    /// Slices that may concern a node; with `all_counters` also those with counters of other nodes.
    pub(crate) fn for_node(
        &self,
        node: &str,
        all_counters: bool,
    ) -> impl Iterator<Item = &Published> {
        let own = self.by_node.get(node).into_iter().flatten();
        let others = self
            .counting
            .iter()
            .filter(move |one| all_counters && one.slice.place.node_name.as_deref() != Some(node));
        own.chain(&self.elsewhere).chain(others)
    }

    /// Slices that name a node.
    pub(crate) fn of_node(&self, node: &str) -> Option<&[Published]> {
        self.by_node.get(node).map(Vec::as_slice)
    }

    /// Slices that name no node.
    pub(super) fn elsewhere(&self) -> &[Published] {
        &self.elsewhere
    }

    /// Whether any slice has counters.
    pub(super) fn has_counters(&self) -> bool {
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

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if let Some(Object::ResourceSlice(old)) = &replaced.old {
            let forget = |slices: &mut Slices| {
                slices.retain(|have| have.slice.meta.name != old.meta.name);
                slices.is_empty()
            };
            if let Some(node) = &old.place.node_name {
                forget(&mut self.counting);
                if self.by_node.get_mut(node).is_some_and(forget) {
                    self.by_node.remove(node);
                }
            } else {
                forget(&mut self.elsewhere);
            }
            let pool = (old.driver.clone(), old.pool.clone());
            if self.by_pool.get_mut(&pool).is_some_and(forget) {
                self.by_pool.remove(&pool);
            }
        }
        if let Some(Object::ResourceSlice(slice)) = &replaced.new {
            let new = Published::new(slice);
            match &slice.place.node_name {
                Some(node) => {
                    self.by_node.entry(node.clone()).or_default().push(new.clone());
                    if !slice.shared_counters.is_empty() {
                        self.counting.push(new.clone());
                    }
                }
                None => self.elsewhere.push(new.clone()),
            }
            let pool = (slice.driver.clone(), slice.pool.clone());
            self.by_pool.entry(pool).or_default().push(new);
        }
    }
}
