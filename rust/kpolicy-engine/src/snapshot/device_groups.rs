//! Which nodes are alike for claims: whoever asks says what it looks at of devices, and nodes that have
//! the same of it are a group.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::device_kinds::{Contents, DeviceKinds, OwnDevices};
use super::device_slices::DeviceSlices;
use super::device_taint_rules::DeviceTaintRules;

/// For so many ways to look at devices the groups are kept, those that were asked for last.
const KEPT_MAX: usize = 8;
/// Groups that no node is in any more are forgotten once there are as many as others, and so many more.
const EMPTY_BEYOND: usize = 64;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Groups {
    by_place: Box<[u32]>,
    /// How many groups with nodes there are, with the first one.
    pub(crate) groups: usize,
    /// The numbers of groups are below this.
    pub(crate) numbers: usize,
    /// How many nodes are like no other.
    pub(crate) alone: usize,
}

impl Groups {
    /// Which nodes are together, whatever the numbers are.
    fn described(&self) -> (Vec<u32>, usize, usize) {
        let mut first: FxHashMap<u32, u32> = FxHashMap::default();
        let together = self.by_place.iter().zip(0_u32..);
        let together = together.map(|(number, place)| match *number {
            ALONE => ALONE,
            number => *first.entry(number).or_insert(place),
        });
        (together.collect(), self.groups, self.alone)
    }
}

/// The groups that were asked for last. Claims change those of the nodes whose devices they have;
/// after other changes they are made anew.
#[derive(Debug, Default)]
pub(super) struct GroupsKept(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    looked: Looked,
    /// `None`: no two nodes are known to be alike.
    grouped: Option<Grouped>,
    /// Places whose devices changed since.
    changed: Vec<usize>,
}

#[derive(Debug)]
struct Grouped {
    groups: Arc<Groups>,
    /// By what is looked at of a node; also those of groups that no node is in any more.
    numbers: FxHashMap<Box<[u64]>, u32>,
    /// How many nodes are in each group.
    nodes: Vec<usize>,
    /// The names of devices count: rules taint some of them.
    at_names: bool,
}

impl GroupsKept {
    /// Everything may be otherwise.
    pub(super) fn forget(&mut self) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The devices of a node are used otherwise.
    pub(super) fn note(&mut self, place: usize, places: usize) {
        let all = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().for_each(|kept| kept.changed.push(place));
        // Nobody has asked for long.
        all.retain(|kept| kept.changed.len() <= places);
    }
}

impl DeviceKinds {
    /// `None`: no two nodes are known to be alike.
    pub(super) fn groups(
        &self,
        looked: &Looked,
        slices: &DeviceSlices,
        rules: &DeviceTaintRules,
    ) -> Option<Arc<Groups>> {
        let mut all = self.grouped.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|kept| kept.looked == *looked);
        let followed = place.map(|place| all.remove(place)).and_then(|kept| kept.followed(self));
        let kept = followed.unwrap_or_else(|| Kept {
            looked: looked.clone(),
            grouped: self.grouped_by(looked, slices, rules),
            changed: Vec::new(),
        });
        let groups = kept.grouped.as_ref().map(|grouped| Arc::clone(&grouped.groups));
        debug_assert_eq!(
            groups.as_deref().map(Groups::described),
            self.grouped_by(looked, slices, rules).map(|anew| anew.groups.described()),
            "groups that were kept are not those made anew"
        );
        all.insert(0, kept);
        all.truncate(KEPT_MAX);
        groups
    }

    fn grouped_by(
        &self,
        looked: &Looked,
        slices: &DeviceSlices,
        rules: &DeviceTaintRules,
    ) -> Option<Grouped> {
        let is_for_all = |place: &crate::model::SlicePlace| {
            place.is_everywhere && place.node_name.is_none() && place.selector.is_none()
        };
        let elsewhere = slices.elsewhere();
        if !elsewhere.iter().all(|one| is_for_all(&one.slice.place) && !one.slice.is_per_device)
            || (looked.at_all_counters && slices.has_counters_for_others())
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
        let mut by_place = vec![ALONE; self.nodes.len()];
        let mut numbers = FxHashMap::default();
        let mut nodes = vec![0];
        let at_names = looked.at_taint_rules && rules.name_devices();
        let mut keys = Keys::of(looked, at_names);
        for (devices, number) in self.nodes.iter().zip(&mut by_place) {
            let Some(devices) = devices else { continue };
            if !(may_be_alone && is_alone(&devices.node)) {
                *number = put(keys.of_node(devices), &mut numbers, &mut nodes);
            }
        }
        let together: usize = nodes.iter().sum();
        let groups = Groups {
            by_place: by_place.into(),
            groups: nodes.len(),
            numbers: nodes.len(),
            alone: self.places.len() - together,
        };
        Some(Grouped { groups: groups.into(), numbers, nodes, at_names })
    }

    /// The group of a node; `None`: it is alone.
    pub(crate) fn group(&self, groups: &Groups, node: &str) -> Option<usize> {
        let Some(place) = self.places.get(node) else { return Some(0) };
        let group = groups.by_place.get(*place).copied().filter(|group| *group != ALONE);
        group.map(|group| group as usize)
    }
}

/// The number of the group of a node, which is one node more.
fn put(key: &[u64], numbers: &mut FxHashMap<Box<[u64]>, u32>, nodes: &mut Vec<usize>) -> u32 {
    let number = match numbers.get(key) {
        Some(known) => *known,
        None => {
            let number = u32::try_from(nodes.len()).unwrap_or(ALONE);
            numbers.insert(key.into(), number);
            nodes.push(0);
            number
        }
    };
    if let Some(count) = nodes.get_mut(number as usize) {
        *count += 1;
    }
    number
}

impl Kept {
    /// With the changes since; `None`: too many groups have become empty.
    fn followed(mut self, kinds: &DeviceKinds) -> Option<Self> {
        let changed = std::mem::take(&mut self.changed);
        let Some(grouped) = &mut self.grouped else { return Some(self) };
        if changed.is_empty() {
            return Some(self);
        }
        let groups = Arc::make_mut(&mut grouped.groups);
        let mut keys = Keys::of(&self.looked, grouped.at_names);
        for place in changed {
            let Some(number) = groups.by_place.get_mut(place) else { continue };
            let Some(devices) = kinds.nodes.get(place).and_then(Option::as_ref) else { continue };
            if *number == ALONE {
                continue;
            }
            if let Some(count) = grouped.nodes.get_mut(*number as usize) {
                *count -= 1;
            }
            *number = put(keys.of_node(devices), &mut grouped.numbers, &mut grouped.nodes);
        }
        groups.numbers = grouped.nodes.len();
        groups.groups = 1 + grouped.nodes.iter().filter(|count| **count > 0).count();
        (groups.numbers <= 2 * groups.groups + EMPTY_BEYOND).then_some(self)
    }
}

/// What is looked at of nodes, as keys.
struct Keys<'a> {
    columns: Columns<'a>,
    /// Names of devices.
    at_names: bool,
    key: Vec<u64>,
}

impl<'a> Keys<'a> {
    fn of(looked: &'a Looked, at_names: bool) -> Self {
        Self { columns: Columns::new(looked), at_names, key: Vec::new() }
    }

    fn of_node(&mut self, devices: &OwnDevices) -> &[u64] {
        let devices = match &devices.free {
            Some(free) if !self.columns.looked.at_devices_in_use => free,
            _ => &devices.all,
        };
        self.key.clear();
        self.key.push(devices.slices.id());
        if self.at_names {
            self.key.push(devices.names.id());
        }
        self.columns.add(devices, &mut self.key);
        &self.key
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
