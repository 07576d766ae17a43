//! A device of a slice as a search reads it: what the first device of the slice says that has the same.
//!
//! Most devices of a slice have most things in common, so that a search reads one of them for all.

use crate::model::{
    Attribute, CounterSet, Device, DeviceCapacity, DeviceTaint, ResourceSlice, SlicePlace,
};

use super::device_columns::{Firsts, NONE, SliceColumns, find};
use super::device_flags::Flags;
use super::devices_in_use::{DeviceUse, PoolUse};

/// Who has something of a device.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Held<'a> {
    Known(Option<&'a DeviceUse>),
    /// Claims have shares of it, and none has it whole. Who they are is looked up by its name.
    InShares(&'a PoolUse),
}

/// A slice with its columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columned<'a> {
    pub(crate) slice: &'a ResourceSlice,
    columns: &'a SliceColumns,
}

/// A device of a slice with columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    of: Columned<'a>,
    place: usize,
    pub(crate) device: &'a Device,
}

impl<'a> Columned<'a> {
    pub(super) fn new(slice: &'a ResourceSlice, columns: &'a SliceColumns) -> Self {
        Self { slice, columns }
    }

    pub(crate) fn rows(self) -> impl Iterator<Item = Row<'a>> {
        let devices = self.slice.devices.iter().enumerate();
        devices.map(move |(place, device)| Row { of: self, place, device })
    }

    /// The names of the attributes that its devices have; `None`: there are too many.
    pub(crate) fn names(self) -> Option<&'a [Box<str>]> {
        self.columns.names.as_ref().map(|names| &***names)
    }

    /// Whether both are the same slice.
    pub(crate) fn is(self, other: Self) -> bool {
        std::ptr::eq(self.slice, other.slice)
    }
}

impl<'a> Row<'a> {
    pub(crate) fn of(self) -> Columned<'a> {
        self.of
    }

    pub(crate) fn flags(self) -> Flags {
        self.of.columns.flags.get(self.place).copied().unwrap_or_default()
    }

    /// The nodes that reach it, where the slice leaves this to each device.
    pub(crate) fn place(self) -> &'a SlicePlace {
        &self.device.place
    }

    /// Whether anybody has something of it. `pool`: who has something of its pool.
    pub(crate) fn is_held(self, pool: &PoolUse) -> bool {
        match self.of.columns.notes_use {
            true => self.flags().in_use() != 0,
            false => self.named_in(pool).is_some(),
        }
    }

    /// Who has something of it, by its name. Not inlined: the compiler would read the name of each
    /// device first, also where flags say enough, and that is most of what a search takes.
    #[inline(never)]
    fn named_in(self, pool: &PoolUse) -> Option<&DeviceUse> {
        pool.get(&*self.device.name)
    }

    /// Who has something of it. `is_supposed`: some may have left, whatever is noted.
    pub(crate) fn held(self, pool: &'a PoolUse, is_supposed: bool) -> Held<'a> {
        static WHOLE: DeviceUse = DeviceUse::of_whole();
        let named = || Held::Known(self.named_in(pool));
        match self.flags().in_use() {
            _ if !self.of.columns.notes_use => named(),
            0 => Held::Known(None),
            _ if is_supposed => named(),
            Flags::WHOLE_IN_USE => Held::Known(Some(&WHOLE)),
            Flags::SHARES_IN_USE => Held::InShares(pool),
            _ => named(),
        }
    }

    /// What it offers.
    pub(crate) fn capacity(self) -> &'a [(Box<str>, DeviceCapacity)] {
        let own = self.like(self.firsts().capacity);
        debug_assert_eq!(own.capacity, self.device.capacity);
        &own.capacity
    }

    /// What it takes of counters.
    pub(crate) fn consumes(self) -> &'a [CounterSet] {
        let own = self.like(self.firsts().consumes);
        debug_assert_eq!(own.consumes, self.device.consumes);
        &own.consumes
    }

    pub(crate) fn taints(self) -> &'a [DeviceTaint] {
        let own = self.like(self.firsts().taints);
        debug_assert_eq!(own.taints, self.device.taints);
        &own.taints
    }

    pub(crate) fn attributes_count(self) -> usize {
        self.firsts().attributes as usize
    }

    /// Numbers that are equal where devices of the slice offer the same, and take the same of counters.
    pub(crate) fn numbers(self) -> (u32, u32) {
        let firsts = self.firsts();
        (firsts.capacity, firsts.consumes)
    }

    /// The number of an attribute, by the place of its name: equal where devices of the slice have equal
    /// ones, or none.
    pub(crate) fn number(self, name: usize) -> u16 {
        let columns = self.of.columns;
        columns.values.get(name * columns.flags.len() + self.place).copied().unwrap_or(NONE)
    }

    pub(crate) fn has(self, name: usize) -> bool {
        self.number(name) != NONE
    }

    /// The attributes by name, sorted.
    pub(crate) fn attributes(self) -> impl DoubleEndedIterator<Item = (&'a str, &'a Attribute)> {
        let count = self.of.names().map_or(self.device.attributes.len(), <[Box<str>]>::len);
        (0..count).filter_map(move |place| self.attribute_at(place))
    }

    /// The attributes whose names are meant, sorted by name.
    pub(crate) fn attributes_named(
        self,
        is_meant: impl Fn(&str) -> bool,
    ) -> impl DoubleEndedIterator<Item = &'a Attribute> {
        let names = self.of.names();
        let count = names.map_or(self.device.attributes.len(), <[Box<str>]>::len);
        let is_meant_at = move |place: &usize| {
            let name = match names {
                Some(names) => names.get(*place),
                None => self.device.attributes.get(*place).map(|(name, _)| name),
            };
            name.is_some_and(|name| is_meant(name))
        };
        let places = (0..count).filter(is_meant_at);
        places.filter_map(move |place| self.attribute_at(place).map(|(_, value)| value))
    }

    /// An attribute by its name as it is written.
    pub(crate) fn attribute(self, name: &str) -> Option<&'a Attribute> {
        match self.of.names() {
            Some(names) => {
                let place = names.binary_search_by(|have| (**have).cmp(name)).ok()?;
                self.attribute_at(place).map(|(_, value)| value)
            }
            None => find(self.device, name),
        }
    }

    /// By the place of its name in the slice, or where these have no places, in the device.
    pub(crate) fn attribute_at(self, place: usize) -> Option<(&'a str, &'a Attribute)> {
        let Some(names) = self.of.names() else {
            return self.device.attributes.get(place).map(|(name, value)| (&**name, value));
        };
        let name: &'a str = names.get(place)?;
        let number = self.number(place);
        if number == NONE {
            return None;
        }
        let own = self.of.slice.devices.get(usize::from(number))?;
        let value = match own.attributes.len() == names.len() {
            true => own.attributes.get(place).map(|(_, value)| value),
            false => find(own, name),
        };
        debug_assert_eq!(value, find(self.device, name), "the first device has another value");
        value.map(|value| (name, value))
    }

    fn firsts(self) -> Firsts {
        let place = u32::try_from(self.place).unwrap_or(u32::MAX);
        let own = Firsts { capacity: place, consumes: place, taints: place, attributes: 0 };
        self.of.columns.firsts.get(self.place).copied().unwrap_or(own)
    }

    fn like(self, first: u32) -> &'a Device {
        self.of.slice.devices.get(first as usize).unwrap_or(self.device)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{
        AllocatedDevice, Allocation, Attribute, Device, Kind, Meta, Object, ResourceClaim,
        ResourceSlice,
    };
    use crate::snapshot::Cluster;
    use crate::snapshot::device_columns::NAMES_MAX;

    use super::Held;

    fn meta(name: &str) -> Meta {
        Meta { name: name.into(), ..Meta::default() }
    }

    /// Devices `0`, `1`, … with these attributes.
    fn slice(name: &str, devices: &[&[(&str, i64)]]) -> Object {
        let of_device = |(place, attributes): (usize, &&[(&str, i64)])| Device {
            name: format!("{name}-{place}").into(),
            attributes: attributes
                .iter()
                .map(|(name, value)| ((*name).into(), Attribute::Int(*value)))
                .collect(),
            ..Device::default()
        };
        let devices = devices.iter().enumerate().map(of_device).collect();
        let (driver, pool) = ("d".into(), "p".into());
        let slice = ResourceSlice { meta: meta(name), driver, pool, devices, ..Default::default() };
        Object::ResourceSlice(slice.into())
    }

    /// A claim that has these devices whole, and a share of the last one.
    fn claim(name: &str, devices: &[&str]) -> Object {
        let of_device = |(place, device): (usize, &&str)| AllocatedDevice {
            driver: "d".into(),
            pool: "p".into(),
            device: (*device).into(),
            share_id: if place > 0 && place + 1 == devices.len() { "s".into() } else { "".into() },
            ..AllocatedDevice::default()
        };
        let devices = devices.iter().enumerate().map(of_device).collect();
        let allocation = Some(Allocation { devices, ..Allocation::default() }.into());
        let claim = ResourceClaim { meta: meta(name), allocation, ..ResourceClaim::default() };
        Object::ResourceClaim(claim.into())
    }

    /// By device, who has something of it, as its columns say; the same that an index by name says.
    fn in_use(cluster: &Cluster) -> Vec<(String, u32, u32)> {
        let (slices, held) = (&cluster.objects().device_slices, &cluster.objects().devices_in_use);
        let mut found = Vec::new();
        let Some(pool) = held.pool("d", "p") else { return found };
        for row in slices.in_pool("d", "p").iter().flat_map(|one| slices.columned(one).rows()) {
            let named = pool.get(&*row.device.name);
            let of = |held: Held<'_>| match held {
                Held::Known(own) => own.map(|own| (own.whole > 0, own.shares)),
                Held::InShares(_) => named.map(|own| (false, own.shares)),
            };
            let (own, name) = (of(row.held(pool, false)), &row.device.name);
            assert_eq!(own, named.map(|own| (own.whole > 0, own.shares)), "{name}");
            assert_eq!(own, of(row.held(pool, true)), "{name}");
            assert_eq!(own.is_some(), row.is_held(pool), "{name}");
            found.extend(
                own.map(|(whole, shares)| (row.device.name.to_string(), u32::from(whole), shares)),
            );
        }
        found
    }

    #[test]
    fn who_has_a_device_is_noted_whatever_comes_first() {
        let mut cluster = Cluster::default();
        let used = |name: &str, whole: u32, shares: u32| (name.to_owned(), whole, shares);
        cluster.set_object(claim("a", &["s0-0", "s1-1"]));
        cluster.set_object(slice("s0", &[&[], &[]]));
        cluster.set_object(slice("s1", &[&[], &[]]));
        assert_eq!(in_use(&cluster), [used("s0-0", 1, 0), used("s1-1", 0, 1)]);
        cluster.set_object(claim("b", &["s1-1"]));
        cluster.remove_object(Kind::ResourceClaim, "", "a");
        assert_eq!(in_use(&cluster), [used("s1-1", 1, 0)]);
        // With more slices nothing is noted until they are fewer again.
        for number in 2..10 {
            cluster.set_object(slice(&format!("s{number}"), &[&[]]));
        }
        cluster.set_object(claim("b", &["s0-1", "s9-0"]));
        assert_eq!(in_use(&cluster), [used("s0-1", 1, 0), used("s9-0", 0, 1)]);
        for number in 2..9 {
            cluster.remove_object(Kind::ResourceSlice, "", &format!("s{number}"));
        }
        assert_eq!(in_use(&cluster), [used("s0-1", 1, 0), used("s9-0", 0, 1)]);
        cluster.set_object(slice("s0", &[&[]]));
        assert_eq!(in_use(&cluster), [used("s9-0", 0, 1)]);
    }

    #[test]
    fn devices_with_one_number_have_one_value() {
        let mut cluster = Cluster::default();
        cluster.set_object(slice(
            "s",
            &[&[("model", 1), ("uuid", 7)], &[("model", 2)], &[("model", 1), ("uuid", 8)], &[]],
        ));
        let slices = &cluster.objects().device_slices;
        let published = slices.in_pool("d", "p").first().expect("it is published");
        let own = slices.columned(published);
        let names: Vec<&str> = own.names().into_iter().flatten().map(AsRef::as_ref).collect();
        assert_eq!(names, ["model", "uuid"]);
        let rows: Vec<_> = own.rows().collect();
        let numbers: Vec<u16> = rows.iter().map(|row| row.number(0)).collect();
        assert_eq!((numbers[0], numbers[0] == numbers[1]), (numbers[2], false));
        let has: Vec<[bool; 2]> = rows.iter().map(|row| [row.has(0), row.has(1)]).collect();
        assert_eq!(has, [[true, true], [true, false], [true, true], [false, false]]);
        let of = |name: &str| -> Vec<Option<&Attribute>> {
            rows.iter().map(|row| row.attribute(name)).collect()
        };
        let value = |value: i64| Attribute::Int(value);
        assert_eq!(of("model"), [Some(&value(1)), Some(&value(2)), Some(&value(1)), None]);
        assert_eq!(of("uuid"), [Some(&value(7)), None, Some(&value(8)), None]);
        assert_eq!(of("other"), [None; 4]);
    }

    #[test]
    fn devices_with_very_many_names_are_looked_at_themselves() {
        let names: Vec<String> = (0..=NAMES_MAX).map(|number| format!("a{number:02}")).collect();
        let attributes: Vec<(&str, i64)> = names.iter().map(|name| (&**name, 1)).collect();
        let (one, others) = attributes.split_at(1);
        let mut cluster = Cluster::default();
        cluster.set_object(slice("s", &[one, others]));
        let slices = &cluster.objects().device_slices;
        let published = slices.in_pool("d", "p").first().expect("it is published");
        let own = slices.columned(published);
        assert!(own.names().is_none());
        let counts: Vec<usize> = own.rows().map(|row| row.attributes().count()).collect();
        assert_eq!(counts, [1, NAMES_MAX]);
    }
}
