//! Which nodes are alike for claims: whoever asks says what it looks at of devices, and nodes that have
//! the same of it are a group.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::device_kinds::{Contents, DeviceKinds};
use super::device_slices::DeviceSlices;
use super::device_taint_rules::DeviceTaintRules;

/// What is looked at of devices besides drivers, capacities, counters, taints, and who uses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The values of all attributes.
    pub(crate) at_everything: bool,
    /// The values of these, by their names as drivers write them.
    pub(crate) attributes: BTreeSet<Box<str>>,
    /// Rules that taint devices.
    pub(crate) at_taint_rules: bool,
    /// Devices that claims have whole.
    pub(crate) at_devices_in_use: bool,
    /// Slices with counters that name another node.
    pub(crate) at_all_counters: bool,
}

/// The group of a node of its own.
const ALONE: u32 = u32::MAX;

/// Groups of nodes. The first one is that of nodes that no slice names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    by_place: Box<[u32]>,
    /// How many groups there are.
    pub(crate) groups: usize,
    /// How many nodes are like no other.
    pub(crate) alone: usize,
}

/// The groups that were asked for last.
pub(super) type Remembered = Mutex<Option<(u64, Looked, Option<Arc<Groups>>)>>;

impl DeviceKinds {
    /// `None`: no two nodes are known to be alike.
    pub(super) fn groups(
        &self,
        looked: &Looked,
        slices: &DeviceSlices,
        rules: &DeviceTaintRules,
    ) -> Option<Arc<Groups>> {
        let mut remembered = self.grouped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((version, known, groups)) = &*remembered
            && (*version, known) == (self.version, looked)
        {
            return groups.clone();
        }
        let groups = self.grouped_by(looked, slices, rules).map(Arc::new);
        *remembered = Some((self.version, looked.clone(), groups.clone()));
        groups
    }

    fn grouped_by(
        &self,
        looked: &Looked,
        slices: &DeviceSlices,
        rules: &DeviceTaintRules,
    ) -> Option<Groups> {
        let is_for_all = |place: &crate::model::SlicePlace| {
            place.is_everywhere && place.node_name.is_none() && place.selector.is_none()
        };
        let elsewhere = slices.elsewhere();
        if !elsewhere.iter().all(|one| is_for_all(&one.slice.place) && !one.slice.is_per_device)
            || (looked.at_all_counters && slices.has_counters())
        {
            return None;
        }
        let drivers: BTreeSet<&str> = elsewhere.iter().map(|one| &*one.slice.driver).collect();
        let by_pool = looked.at_taint_rules && rules.name_pools();
        // Its pools come before or after those of all nodes, depending on their names, or a rule taints
        // devices of this node only.
        let is_alone = |node: &str| {
            let mut own = slices.of_node(node).into_iter().flatten();
            own.any(|one| {
                drivers.contains(&*one.slice.driver)
                    || (by_pool && rules.name_pool(&one.slice.pool))
            })
        };
        let may_be_alone = !drivers.is_empty() || by_pool;
        let at_names = looked.at_taint_rules && rules.name_devices();
        let mut by_place = vec![ALONE; self.nodes.len()];
        let (mut groups, mut alone) = (1_u32, self.places.len());
        let mut numbers: FxHashMap<Box<[u64]>, u32> = FxHashMap::default();
        let mut columns = Columns::new(looked);
        let mut key: Vec<u64> = Vec::new();
        for (devices, number) in self.nodes.iter().zip(&mut by_place) {
            let Some(devices) = devices else { continue };
            if may_be_alone && is_alone(&devices.node) {
                continue;
            }
            alone -= 1;
            key.clear();
            let devices = match &devices.free {
                Some(free) if !looked.at_devices_in_use => free,
                _ => &devices.all,
            };
            key.push(devices.slices.id());
            if at_names {
                key.push(devices.names.id());
            }
            columns.add(devices, &mut key);
            *number = match numbers.get(&*key) {
                Some(known) => *known,
                None => {
                    numbers.insert(key.as_slice().into(), groups);
                    groups += 1;
                    groups - 1
                }
            };
        }
        Some(Groups { by_place: by_place.into(), groups: groups as usize, alone })
    }

    /// The group of a node; `None`: it is alone.
    pub(crate) fn group(&self, groups: &Groups, node: &str) -> Option<usize> {
        let Some(place) = self.places.get(node) else { return Some(0) };
        let group = groups.by_place.get(*place).copied().filter(|group| *group != ALONE);
        group.map(|group| group as usize)
    }
}

/// Where the attributes that are looked at are among those of a node. Nodes with the same slices have
/// the same ones.
struct Columns<'a> {
    looked: &'a Looked,
    slices: Option<u64>,
    places: Vec<usize>,
}

impl<'a> Columns<'a> {
    fn new(looked: &'a Looked) -> Self {
        Self { looked, slices: None, places: Vec::new() }
    }

    fn add(&mut self, devices: &Contents, key: &mut Vec<u64>) {
        if self.slices != Some(devices.slices.id()) {
            self.slices = Some(devices.slices.id());
            self.places.clear();
            let is_looked_at = |name: &[u8]| {
                let name = std::str::from_utf8(name).unwrap_or_default();
                self.looked.at_everything || self.looked.attributes.contains(name)
            };
            let names = devices.attributes.iter().enumerate();
            let looked = names.filter(|(_, (name, _))| is_looked_at(name));
            self.places.extend(looked.map(|(place, _)| place));
        }
        let values = self.places.iter().filter_map(|place| devices.attributes.get(*place));
        key.extend(values.map(|(_, values)| values.id()));
    }
}
