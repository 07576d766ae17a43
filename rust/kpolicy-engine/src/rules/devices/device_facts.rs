//! A device as selectors see it: the facts that they read, and whether two devices are alike in them.

use kpolicy_cel::{Answer, Facts, Map, Quantity, Read, Semver, Value};

use crate::model::{Attribute, DeviceCapacity, WrittenQuantity};
use crate::snapshot::device_reads::DeviceRead;
use crate::snapshot::device_rows::Row;
use crate::snapshot::device_selectors::DeviceFact;

/// What a device has of something that a selector looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen<'a> {
    Driver(&'a str),
    Is(bool),
    Attribute(Option<&'a Attribute>),
    Capacity(Option<WrittenQuantity>),
}

/// A device as selectors see it.
pub(super) struct DeviceFacts<'a> {
    pub(super) driver: &'a str,
    pub(super) row: Row<'a>,
}

impl<'a> DeviceFacts<'a> {
    /// Where two devices have the same of all that a selector looks at, it says the same of them.
    pub(super) fn seen(&self, read: &DeviceRead) -> Seen<'a> {
        let Self { driver, row } = *self;
        match read {
            DeviceRead::Driver => Seen::Driver(driver),
            DeviceRead::IsShared => Seen::Is(row.flags().is_shared()),
            DeviceRead::Attribute(domain, name) => {
                let mut named = self.attributes_named(Some(domain), name);
                Seen::Attribute(named.find(|own| is_a_value(own)))
            }
            DeviceRead::Capacity(domain, name) => {
                let mut named = named(driver, self.capacities(), Some(domain), name);
                Seen::Capacity(named.next().map(|own| own.value))
            }
            DeviceRead::AttributesOf(domain) => Seen::Is(self.has(row.attributes(), Some(domain))),
            DeviceRead::CapacitiesOf(domain) => Seen::Is(self.has(self.capacities(), Some(domain))),
        }
    }

    /// What it has under a name of a domain, as `named`. Only attributes of this name are looked at.
    fn attributes_named<'b>(
        &self,
        domain: Option<&'b str>,
        name: &'b str,
    ) -> impl Iterator<Item = &'a Attribute> + use<'a, 'b> {
        let driver = self.driver;
        self.row.attributes_named(move |have| is_named(driver, have, domain, name)).rev()
    }

    /// The capacities by name, sorted.
    fn capacities(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&'a str, &'a DeviceCapacity)> + use<'a> {
        self.row.capacity().iter().map(|(name, capacity)| (&**name, capacity))
    }

    /// Whether it has any of a domain.
    fn has<T>(&self, mut own: impl Iterator<Item = (&'a str, T)>, domain: Option<&str>) -> bool {
        own.any(|(name, _)| Some(split(self.driver, name).0) == domain)
    }
}

/// The domain and the rest of a name; a bare name belongs to the driver.
pub(super) fn split<'b>(driver: &'b str, name: &'b str) -> (&'b str, &'b str) {
    name.split_once('/').unwrap_or((driver, name))
}

/// Whether an attribute or capacity of this name is that of a domain.
pub(super) fn is_named(driver: &str, have: &str, domain: Option<&str>, name: &str) -> bool {
    match have.strip_suffix(name) {
        Some("") => Some(driver) == domain && !name.contains('/'),
        Some(before) => match before.strip_suffix('/') {
            Some(own) => Some(own) == domain && !own.contains('/'),
            None => false,
        },
        None => false,
    }
}

/// What a device has under a name of a domain: the last one counts that is a value.
fn named<'b, 'n, T>(
    driver: &'b str,
    own: impl DoubleEndedIterator<Item = (&'n str, T)>,
    domain: Option<&'b str>,
    name: &'b str,
) -> impl Iterator<Item = T> {
    let is_meant = move |have: &str| is_named(driver, have, domain, name);
    own.rev().filter(move |(have, _)| is_meant(have)).map(|(_, entry)| entry)
}

impl Facts for DeviceFacts<'_> {
    fn read(&self, read: &Read) -> Answer {
        match DeviceFact::of(read) {
            Some(DeviceFact::Driver) => Value::string(self.driver).into(),
            Some(DeviceFact::IsShared) => self.row.flags().is_shared().into(),
            // A domain that the device does not have is empty, and not absent.
            Some(DeviceFact::AttributesOf) => {
                self.of_domain(self.row.attributes(), read.key(), attribute_value).into()
            }
            Some(DeviceFact::CapacitiesOf) => {
                self.of_domain(self.capacities(), read.key(), capacity_value).into()
            }
            Some(DeviceFact::HasAttributesOf) => self.presence(self.row.attributes(), read.key()),
            Some(DeviceFact::HasCapacitiesOf) => self.presence(self.capacities(), read.key()),
            Some(DeviceFact::Attributes) => {
                self.by_domain(|| self.row.attributes(), attribute_value).into()
            }
            Some(DeviceFact::Capacities) => {
                self.by_domain(|| self.capacities(), capacity_value).into()
            }
            None => Answer::Unknown,
        }
    }

    fn entry(&self, read: &Read, name: &str) -> Option<Answer> {
        let found = match DeviceFact::of(read) {
            Some(DeviceFact::AttributesOf) => {
                self.attributes_named(read.key(), name).find_map(attribute_value)
            }
            Some(DeviceFact::CapacitiesOf) => {
                named(self.driver, self.capacities(), read.key(), name).find_map(capacity_value)
            }
            _ => return None,
        };
        Some(found.map_or(Answer::Absent, Answer::from))
    }

    fn is_made(&self, read: &Read) -> bool {
        matches!(
            DeviceFact::of(read),
            Some(
                DeviceFact::Attributes
                    | DeviceFact::Capacities
                    | DeviceFact::AttributesOf
                    | DeviceFact::CapacitiesOf
            )
        )
    }
}

impl<'a> DeviceFacts<'a> {
    /// Its attributes by their names with domain.
    pub(super) fn all_attributes(&self) -> Value {
        self.by_full_name(self.row.attributes(), attribute_value)
    }

    /// Its capacities by their names with domain.
    pub(super) fn all_capacities(&self) -> Value {
        self.by_full_name(self.capacities(), capacity_value)
    }

    fn by_full_name<T>(
        &self,
        own: impl Iterator<Item = (&'a str, &'a T)>,
        value: fn(&T) -> Option<Value>,
    ) -> Value
    where
        T: 'a,
    {
        let full = |name: &str| {
            let (domain, id) = split(self.driver, name);
            format!("{domain}/{id}")
        };
        Value::map(Map::of_strings(
            own.filter_map(|(name, entry)| Some((full(name), value(entry)?))),
        ))
    }

    /// What `in` says of a domain.
    fn presence<T>(&self, own: impl Iterator<Item = (&'a str, T)>, domain: Option<&str>) -> Answer {
        if self.has(own, domain) { true.into() } else { Answer::Absent }
    }

    fn of_domain<T>(
        &self,
        own: impl Iterator<Item = (&'a str, &'a T)>,
        domain: Option<&str>,
        value: fn(&T) -> Option<Value>,
    ) -> Value
    where
        T: 'a,
    {
        let own = own.filter_map(|(name, entry)| {
            let (have, id) = split(self.driver, name);
            (Some(have) == domain).then(|| Some((id, value(entry)?))).flatten()
        });
        Value::map(Map::of_strings(own))
    }

    fn by_domain<T, I>(&self, own: impl Fn() -> I, value: fn(&T) -> Option<Value>) -> Value
    where
        T: 'a,
        I: Iterator<Item = (&'a str, &'a T)>,
    {
        let of = |domain| self.of_domain(own(), Some(domain), value);
        let domains = own().map(|(name, _)| split(self.driver, name).0);
        Value::map(Map::of_strings(domains.map(|domain| (domain, of(domain)))))
    }
}

/// Whether `attribute_value` makes something of it.
fn is_a_value(attribute: &Attribute) -> bool {
    match attribute {
        Attribute::Int(_) | Attribute::Bool(_) | Attribute::Text(_) => true,
        Attribute::Version(text) => Semver::parse(text).is_ok(),
        Attribute::Unknown => false,
    }
}

pub(super) fn attribute_value(attribute: &Attribute) -> Option<Value> {
    match attribute {
        Attribute::Int(value) => Some(Value::Int(*value)),
        Attribute::Bool(value) => Some(Value::Bool(*value)),
        Attribute::Text(text) => Some(Value::string(&**text)),
        Attribute::Version(text) => {
            Semver::parse(text).ok().map(|version| Value::Semver(version.into()))
        }
        Attribute::Unknown => None,
    }
}

fn capacity_value(capacity: &DeviceCapacity) -> Option<Value> {
    Quantity::parse(&capacity.value.text()).map(|amount| Value::Quantity(amount.into()))
}
