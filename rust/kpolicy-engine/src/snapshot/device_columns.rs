//! What a slice says of its devices, side by side: a search looks at a few things of many devices, and
//! reading each device by itself takes longer than everything else.
//!
//! Not the values are kept, but which devices have equal ones: the first device of the slice that has a
//! value stands for all that have it.

use std::collections::BTreeSet;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::intern::{Interner, Shared};
use crate::model::{Attribute, Device, ResourceSlice};

use super::device_flags::Flags;
use super::devices_in_use::PoolUse;

/// Where the devices of a slice have attributes of more names, each is looked at by itself.
pub(super) const NAMES_MAX: usize = 64;
/// Names that no slice has any more are forgotten once there are twice as many, and so many more.
const SWEPT_BEYOND: usize = 64;
/// The device has no such attribute.
pub(super) const NONE: u16 = u16::MAX;

/// The names of the attributes of a slice, as they are written, sorted.
type Names = Box<[Box<str>]>;

/// The columns of all slices, by the number that each slice has while it is there.
#[derive(Debug, Default)]
pub(super) struct DeviceColumns {
    names: Interner<Names>,
    /// How many the last sweep left.
    left: usize,
    slices: Vec<SliceColumns>,
    free: Vec<usize>,
    /// Those of no slice.
    none: SliceColumns,
}

/// The columns of a slice.
#[derive(Debug, Default)]
pub(crate) struct SliceColumns {
    /// `None`: values have no columns.
    pub(super) names: Option<Shared<Names>>,
    /// By name, then by device: the first one with the same value.
    pub(super) values: Box<[u16]>,
    /// By device.
    pub(super) firsts: Box<[Firsts]>,
    /// By device.
    pub(super) flags: Box<[Flags]>,
    /// Flags say which devices are in use.
    pub(super) notes_use: bool,
    /// Of a pool with several slices but not too many, all of one generation.
    pub(super) together: Option<Together>,
}

/// The slices of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Together {
    pub(super) slices: usize,
    /// They contradict themselves or each other.
    pub(super) contradict: bool,
}

/// Of a device: the first one that has the same, and how many attributes it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Firsts {
    pub(super) capacity: u32,
    pub(super) consumes: u32,
    pub(super) taints: u32,
    pub(super) attributes: u32,
}

impl DeviceColumns {
    /// The number of a new slice.
    pub(super) fn add(&mut self, slice: &ResourceSlice) -> usize {
        if self.names.len() > 2 * self.left + SWEPT_BEYOND {
            self.names.sweep();
            self.left = self.names.len();
        }
        let columns = SliceColumns::of(slice, &mut self.names);
        match self.free.pop() {
            Some(number) => {
                if let Some(cell) = self.slices.get_mut(number) {
                    *cell = columns;
                }
                number
            }
            None => {
                self.slices.push(columns);
                self.slices.len() - 1
            }
        }
    }

    pub(super) fn remove(&mut self, number: usize) {
        if let Some(cell) = self.slices.get_mut(number) {
            *cell = SliceColumns::default();
            self.free.push(number);
        }
    }

    pub(super) fn get(&self, number: usize) -> &SliceColumns {
        self.slices.get(number).unwrap_or(&self.none)
    }

    /// Notes who has something of the devices that `is_meant`. `pool`: who has something of its pool.
    pub(super) fn note_use(
        &mut self,
        (slice, number): (&ResourceSlice, usize),
        pool: Option<&PoolUse>,
        is_meant: impl Fn(&str) -> bool,
    ) {
        let Some(columns) = self.slices.get_mut(number) else { return };
        for (device, flags) in slice.devices.iter().zip(&mut columns.flags) {
            if is_meant(&device.name) {
                *flags = flags.with_use(pool.and_then(|pool| pool.get(&*device.name)));
            }
        }
    }

    /// Whether it notes who has something of the devices of a slice from now on, and whether it did.
    pub(super) fn set_notes_use(&mut self, number: usize, notes_use: bool) -> bool {
        let columns = self.slices.get_mut(number);
        columns.is_some_and(|columns| std::mem::replace(&mut columns.notes_use, notes_use))
    }

    /// What is known of the slices of its pool.
    pub(super) fn set_together(&mut self, number: usize, together: Option<Together>) {
        if let Some(columns) = self.slices.get_mut(number) {
            columns.together = together;
        }
    }
}

impl SliceColumns {
    fn of(slice: &ResourceSlice, interner: &mut Interner<Names>) -> Self {
        let devices = &slice.devices;
        let capacities = firsts(devices.iter().map(|device| Some(&*device.capacity)));
        let consumed = firsts(devices.iter().map(|device| Some(&*device.consumes)));
        let tainted = firsts(devices.iter().map(|device| Some(&*device.taints)));
        let number = |firsts: &[Option<usize>], place: usize| {
            let first = firsts.get(place).copied().flatten();
            first.and_then(|first| u32::try_from(first).ok()).unwrap_or(u32::MAX)
        };
        let firsts = devices.iter().enumerate().map(|(place, device)| Firsts {
            capacity: number(&capacities, place),
            consumes: number(&consumed, place),
            taints: number(&tainted, place),
            attributes: u32::try_from(device.attributes.len()).unwrap_or(u32::MAX),
        });
        let names = names(devices);
        let (names, values) = match names.len() <= NAMES_MAX && devices.len() < usize::from(NONE) {
            true => {
                let values = values(devices, &names);
                (Some(interner.intern(names.into_iter().map(Box::from).collect())), values)
            }
            false => (None, Box::default()),
        };
        let flags = devices.iter().map(Flags::of).collect();
        Self { names, values, firsts: firsts.collect(), flags, notes_use: false, together: None }
    }
}

/// All names of attributes, sorted.
fn names(devices: &[Device]) -> Vec<&str> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut before: &[(Box<str>, Attribute)] = &[];
    for device in devices {
        let own = device.attributes.iter().map(|(name, _)| &**name);
        if !own.clone().eq(before.iter().map(|(name, _)| &**name)) {
            names.extend(own);
            before = &device.attributes;
        }
    }
    names.into_iter().collect()
}

fn values(devices: &[Device], names: &[&str]) -> Box<[u16]> {
    let columns = names.iter().enumerate().flat_map(|(place, name)| {
        firsts(devices.iter().map(move |device| match device.attributes.len() == names.len() {
            true => device.attributes.get(place).map(|(_, value)| value),
            false => find(device, name),
        }))
    });
    columns.map(|first| first.and_then(|first| u16::try_from(first).ok()).unwrap_or(NONE)).collect()
}

/// Of each value: the place of the first one that is equal.
fn firsts<'a, T: Hash + Eq + ?Sized + 'a>(
    values: impl Iterator<Item = Option<&'a T>>,
) -> Vec<Option<usize>> {
    let mut known: FxHashMap<&T, usize> = FxHashMap::default();
    let mut before: Option<(&T, usize)> = None;
    let numbered = values.enumerate().map(|(place, value)| {
        let value = value?;
        if let Some((last, first)) = before
            && last == value
        {
            return Some(first);
        }
        let first = *known.entry(value).or_insert(place);
        before = Some((value, first));
        Some(first)
    });
    numbered.collect()
}

/// By its name as it is written.
pub(super) fn find<'a>(device: &'a Device, name: &str) -> Option<&'a Attribute> {
    device.attributes.iter().find(|(have, _)| **have == *name).map(|(_, value)| value)
}
