//! What each node has of devices, apart from names: nodes that have the same get the same answers
//! about claims, so that one of them is asked for all (`super::device_groups`).
//!
//! Kept in step with slices and claims: a change touches the nodes of its pools only.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

use crate::intern::{Interner, Shared};
use crate::model::{Device, Kind, Object, ResourceSlice};

use super::device_groups::GroupsKept;
use super::device_slices::{DeviceSlices, Published, contradict, share_a_name};
use super::devices_in_use::{DeviceUse, DevicesInUse};
use super::objects::Replaced;

/// A node with more slices or devices than this is like no other, so that a change stays cheap.
const SLICES_MAX: usize = 64;
const DEVICES_MAX: usize = 1_024;
/// Contents that nobody has any more are forgotten once there are twice as many, and so many more.
const SWEPT_BEYOND: usize = 1_024;

/// Equal exactly where what was written down is equal.
pub(super) type Content = Shared<Box<[u8]>>;

/// What a node has.
#[derive(Debug)]
pub(super) struct OwnDevices {
    pub(super) node: Box<str>,
    /// All of its devices, and which of them are in use.
    pub(super) all: Contents,
    /// Those that no claim has whole. `None`: those that are in use take of what the others need.
    pub(super) free: Option<Contents>,
}

/// What devices are.
#[derive(Debug)]
pub(super) struct Contents {
    /// Drivers, slices and devices in order, what claims have of each, and the names of attributes, but
    /// without their values.
    pub(super) slices: Content,
    /// The names of the devices.
    pub(super) names: Content,
    /// The values of each attribute of these devices, by its name as it is written, sorted.
    pub(super) attributes: Box<[(Content, Content)]>,
}

/// The nodes that slices name, each with a place of its own.
#[derive(Debug, Default)]
pub(crate) struct DeviceKinds {
    contents: Interner<Box<[u8]>>,
    /// How many contents the last sweep left.
    left: usize,
    pub(super) places: FxHashMap<Box<str>, usize>,
    /// By place; `None`: like no other node, or nobody has this place.
    pub(super) nodes: Vec<Option<OwnDevices>>,
    free: Vec<usize>,
    pub(super) grouped: GroupsKept,
}

impl DeviceKinds {
    pub(super) fn follow(
        &mut self,
        replaced: &Replaced,
        slices: &DeviceSlices,
        in_use: &DevicesInUse,
    ) {
        match replaced.kind {
            Kind::ResourceSlice => self.follow_slice(replaced, slices, in_use),
            Kind::ResourceClaim => self.follow_claim(replaced, slices, in_use),
            Kind::DeviceTaintRule => self.grouped.forget(),
            _ => return,
        }
        if self.contents.len() > 2 * self.left + SWEPT_BEYOND {
            self.contents.sweep();
            self.left = self.contents.len();
        }
    }

    fn follow_slice(&mut self, replaced: &Replaced, slices: &DeviceSlices, in_use: &DevicesInUse) {
        self.grouped.forget();
        let mut touched: Vec<&str> = Vec::new();
        for object in [&replaced.old, &replaced.new].into_iter().flatten() {
            let Object::ResourceSlice(slice) = object else { continue };
            touched.extend(slice.place.node_name.as_deref());
            // A pool whose slices named one node only may now reach others too, or no longer.
            touched.extend(node_of_pool(&slice.driver, &slice.pool, slices));
        }
        touched.sort_unstable();
        touched.dedup();
        for node in touched {
            let Some(own) = slices.of_node(node) else {
                self.leave(node);
                continue;
            };
            let pools = pools_of(node, own, slices);
            let devices = pools.map(|pools| self.devices_of(node, &pools, in_use));
            let place = self.place_for(node);
            if let Some(cell) = self.nodes.get_mut(place) {
                *cell = devices;
            }
        }
    }

    fn follow_claim(&mut self, replaced: &Replaced, slices: &DeviceSlices, in_use: &DevicesInUse) {
        let allocation = |object: &Option<Object>| match object {
            Some(Object::ResourceClaim(claim)) => claim.allocation.clone(),
            _ => None,
        };
        let (old, new) = (allocation(&replaced.old), allocation(&replaced.new));
        if old == new {
            return;
        }
        let mut touched: Vec<&str> = Vec::new();
        let both = [&old, &new].into_iter().flatten();
        for device in both.flat_map(|allocation| allocation.devices.iter()) {
            touched.extend(node_of_pool(&device.driver, &device.pool, slices));
        }
        touched.sort_unstable();
        touched.dedup();
        for node in touched {
            let Some(own) = slices.of_node(node) else { continue };
            let Some(place) = self.places.get(node).copied() else { continue };
            if self.nodes.get(place).is_some_and(Option::is_some) {
                let devices = self.devices_of(node, &own_pools(own), in_use);
                if let Some(cell) = self.nodes.get_mut(place) {
                    *cell = Some(devices);
                }
                self.grouped.note(place, self.nodes.len());
            }
        }
    }

    fn leave(&mut self, node: &str) {
        let Some(place) = self.places.remove(node) else { return };
        if let Some(cell) = self.nodes.get_mut(place) {
            *cell = None;
        }
        self.free.push(place);
    }

    fn place_for(&mut self, node: &str) -> usize {
        if let Some(place) = self.places.get(node) {
            return *place;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() - 1
        });
        self.places.insert(node.into(), place);
        place
    }

    fn devices_of(
        &mut self,
        node: &str,
        pools: &[OwnPool<'_>],
        in_use: &DevicesInUse,
    ) -> OwnDevices {
        let mut slices = pools.iter().flat_map(|pool| pool.current.iter());
        let counts = slices.any(|slice| {
            let mut devices = slice.devices.iter();
            !slice.shared_counters.is_empty() || devices.any(|device| !device.consumes.is_empty())
        });
        let all = self.interned(Written::of(pools, in_use, Which::All));
        let free = (!counts).then(|| self.interned(Written::of(pools, in_use, Which::Free)));
        OwnDevices { node: node.into(), all, free }
    }

    fn interned(&mut self, written: Written<'_>) -> Contents {
        let contents = &mut self.contents;
        let Written { slices, names, attributes } = written;
        let of_attributes = attributes.into_iter().map(|(name, values)| {
            (contents.intern(name.as_bytes().into()), contents.intern(values.end()))
        });
        Contents {
            attributes: of_attributes.collect(),
            slices: contents.intern(slices.end()),
            names: contents.intern(names.end()),
        }
    }
}

/// `None`: the node is like no other.
fn pools_of<'a>(
    node: &str,
    own: &'a [Published],
    slices: &DeviceSlices,
) -> Option<Vec<OwnPool<'a>>> {
    let devices: usize = own.iter().map(|one| one.slice.devices.len()).sum();
    let is_plain = |one: &Published| {
        let slice = &one.slice;
        !slice.is_per_device && slice.place.selector.is_none() && !slice.place.is_everywhere
    };
    if own.len() > SLICES_MAX || devices > DEVICES_MAX || !own.iter().all(is_plain) {
        return None;
    }
    let pools = own_pools(own);
    let is_own = |pool: &OwnPool<'_>| {
        let mut all = slices.in_pool(pool.driver, pool.name).iter();
        all.all(|one| one.slice.place.node_name.as_deref() == Some(node))
    };
    pools.iter().all(is_own).then_some(pools)
}

/// The node that the slices of a pool name: the first one, where they name several.
fn node_of_pool<'a>(driver: &str, pool: &str, slices: &'a DeviceSlices) -> Option<&'a str> {
    slices.in_pool(driver, pool).first()?.slice.place.node_name.as_deref()
}

/// A pool all of whose slices name one node.
struct OwnPool<'a> {
    driver: &'a str,
    name: &'a str,
    /// How many slices it has, of every generation.
    published: usize,
    /// Those of the highest one, by name.
    current: Vec<&'a ResourceSlice>,
}

/// In the order in which they are searched, up to those that need conditions.
fn own_pools(own: &[Published]) -> Vec<OwnPool<'_>> {
    let mut by_pool: BTreeMap<(&str, &str), Vec<&ResourceSlice>> = BTreeMap::new();
    for one in own {
        by_pool.entry((&one.slice.driver, &one.slice.pool)).or_default().push(&one.slice);
    }
    let pools = by_pool.into_iter().map(|((driver, name), mut current)| {
        let published = current.len();
        let generation = current.iter().map(|slice| slice.generation).max();
        current.retain(|slice| Some(slice.generation) == generation);
        current.sort_by(|left, right| left.meta.name.cmp(&right.meta.name));
        OwnPool { driver, name, published, current }
    });
    pools.collect()
}

/// Writes down what values are hashed from, which tells unequal ones apart.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn end(self) -> Box<[u8]> {
        self.0.into()
    }
}

impl Hasher for Writer {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Tells a device of a slice from the end of the slice.
const A_DEVICE: u8 = 1;
const NO_DEVICE: u8 = 0;

/// Which devices are written down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Those that no claim has whole.
    Free,
}

#[derive(Default)]
struct Written<'a> {
    slices: Writer,
    names: Writer,
    attributes: BTreeMap<&'a str, Writer>,
}

impl<'a> Written<'a> {
    fn of(pools: &[OwnPool<'a>], in_use: &DevicesInUse, which: Which) -> Self {
        let mut written = Self::default();
        let mut place = 0_usize;
        for OwnPool { driver, name, published, current } in pools {
            let devices = current.iter().flat_map(|slice| slice.devices.iter());
            let sets = || current.iter().flat_map(|slice| slice.shared_counters.iter());
            let slice_count = current.first().map(|slice| slice.slice_count);
            let is_contradictory = (share_a_name(devices.clone()), contradict(devices, sets));
            let used = in_use.pool(driver, name).filter(|used| !used.is_empty());
            let out = &mut written.slices;
            (driver, published, slice_count, is_contradictory, current.len()).hash(out);
            used.is_some().hash(out);
            // 1.36 counts for pools of one name together, whatever their drivers are.
            pools.iter().position(|other| other.name == *name).hash(out);
            for slice in current {
                let mut devices = slice.devices.iter();
                let has_conditions = devices.any(|device| !device.binding_conditions.is_empty());
                let out = &mut written.slices;
                (&slice.shared_counters, slice.devices.len(), has_conditions).hash(out);
                for device in &slice.devices {
                    let own = used.and_then(|used| used.get(&*device.name));
                    if which == Which::Free && own.is_some_and(|own| own.whole > 0) {
                        continue;
                    }
                    written.device(place, device, own);
                    place += 1;
                }
                (place, NO_DEVICE).hash(&mut written.slices);
            }
        }
        written
    }

    fn device(&mut self, place: usize, device: &'a Device, own: Option<&DeviceUse>) {
        let Device {
            name,
            attributes,
            capacity,
            is_shared,
            place: _,
            binds_to_node: _,
            taints,
            consumes,
            binding_conditions,
            binding_failure_conditions: _,
        } = device;
        name.hash(&mut self.names);
        (place, A_DEVICE).hash(&mut self.slices);
        let has_conditions = !binding_conditions.is_empty();
        (capacity, is_shared, taints, consumes, has_conditions).hash(&mut self.slices);
        let held = |own: &DeviceUse| (own.whole > 0, own.shares > 0, own.consumers > 0);
        (own.map(held), own.map(|own| &own.consumed)).hash(&mut self.slices);
        attributes.len().hash(&mut self.slices);
        for (name, value) in attributes {
            name.hash(&mut self.slices);
            (place, value).hash(self.attributes.entry(name).or_default());
        }
    }
}
