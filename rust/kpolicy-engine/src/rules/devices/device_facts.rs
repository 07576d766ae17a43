//! A device as selectors see it: the facts that they read, and whether two devices are alike in them.

use kpolicy_cel::{Answer, Facts, Map, Quantity, Read, Semver, Value};

use crate::model::{Attribute, Device, DeviceCapacity, WrittenQuantity};
use crate::snapshot::device_reads::DeviceRead;
use crate::snapshot::device_selectors::CATALOGUE;

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
    pub(super) device: &'a Device,
}

impl<'a> DeviceFacts<'a> {
    /// Where two devices have the same of all that a selector looks at, it says the same of them.
    pub(super) fn seen(&self, read: &DeviceRead) -> Seen<'a> {
        let Self { driver, device } = *self;
        match read {
            DeviceRead::Driver => Seen::Driver(driver),
            DeviceRead::IsShared => Seen::Is(device.is_shared),
            DeviceRead::Attribute(domain, name) => {
                let named = self.named(&device.attributes, Some(domain), name);
                Seen::Attribute(named.into_iter().find(|own| is_a_value(own)))
            }
            DeviceRead::Capacity(domain, name) => {
                let mut named = self.named(&device.capacity, Some(domain), name);
                Seen::Capacity(named.next().map(|own| own.value))
            }
            DeviceRead::AttributesOf(domain) => {
                Seen::Is(self.has(&device.attributes, Some(domain)))
            }
            DeviceRead::CapacitiesOf(domain) => Seen::Is(self.has(&device.capacity, Some(domain))),
        }
    }

    /// The domain and the rest of a name; a bare name belongs to the driver.
    fn split<'b>(&self, name: &'b str) -> (&'b str, &'b str)
    where
        'a: 'b,
    {
        name.split_once('/').unwrap_or((self.driver, name))
    }

    /// Whether it has any of a domain.
    fn has<T>(&self, entries: &[(Box<str>, T)], domain: Option<&str>) -> bool {
        entries.iter().any(|(name, _)| Some(self.split(name).0) == domain)
    }

    /// What it has under a name of a domain: the last one counts that is a value.
    fn named<'b, T>(
        &'b self,
        entries: &'a [(Box<str>, T)],
        domain: Option<&'b str>,
        name: &'b str,
    ) -> impl Iterator<Item = &'a T> + use<'a, 'b, T> {
        let driver = self.driver;
        let is_named = move |have: &str| match have.strip_suffix(name) {
            Some("") => Some(driver) == domain && !name.contains('/'),
            Some(before) => match before.strip_suffix('/') {
                Some(own) => Some(own) == domain && !own.contains('/'),
                None => false,
            },
            None => false,
        };
        entries.iter().rev().filter(move |(have, _)| is_named(have)).map(|(_, entry)| entry)
    }
}

impl Facts for DeviceFacts<'_> {
    fn read(&self, read: &Read) -> Answer {
        match CATALOGUE.get(usize::from(read.fact.id)).copied() {
            Some("device.driver") => Value::string(self.driver).into(),
            Some("device.allowMultipleAllocations") => self.device.is_shared.into(),
            // A domain that the device does not have is empty, and not absent.
            Some("device.attributes[]") => self.attributes(read.key()).into(),
            Some("device.capacity[]") => self.capacities(read.key()).into(),
            Some("device.attributes?[]") => self.presence(&self.device.attributes, read.key()),
            Some("device.capacity?[]") => self.presence(&self.device.capacity, read.key()),
            Some("device.attributes") => {
                self.by_domain(&self.device.attributes, Self::attributes).into()
            }
            Some("device.capacity") => {
                self.by_domain(&self.device.capacity, Self::capacities).into()
            }
            _ => Answer::Unknown,
        }
    }

    fn entry(&self, read: &Read, name: &str) -> Option<Answer> {
        let found = match CATALOGUE.get(usize::from(read.fact.id)).copied() {
            Some("device.attributes[]") => {
                self.named(&self.device.attributes, read.key(), name).find_map(attribute_value)
            }
            Some("device.capacity[]") => {
                self.named(&self.device.capacity, read.key(), name).find_map(capacity_value)
            }
            _ => return None,
        };
        Some(found.map_or(Answer::Absent, Answer::from))
    }

    fn is_made(&self, read: &Read) -> bool {
        matches!(
            CATALOGUE.get(usize::from(read.fact.id)).copied(),
            Some(
                "device.attributes"
                    | "device.capacity"
                    | "device.attributes[]"
                    | "device.capacity[]"
            )
        )
    }
}

impl DeviceFacts<'_> {
    /// Its attributes by their names with domain.
    pub(super) fn all_attributes(&self) -> Value {
        self.by_full_name(&self.device.attributes, attribute_value)
    }

    /// Its capacities by their names with domain.
    pub(super) fn all_capacities(&self) -> Value {
        self.by_full_name(&self.device.capacity, capacity_value)
    }

    fn by_full_name<T>(&self, entries: &[(Box<str>, T)], value: fn(&T) -> Option<Value>) -> Value {
        let full = |name: &str| {
            let (domain, id) = self.split(name);
            format!("{domain}/{id}")
        };
        let own = entries.iter().filter_map(|(name, entry)| Some((full(name), value(entry)?)));
        Value::map(Map::of_strings(own))
    }

    /// What `in` says of a domain.
    fn presence<T>(&self, entries: &[(Box<str>, T)], domain: Option<&str>) -> Answer {
        if self.has(entries, domain) { true.into() } else { Answer::Absent }
    }

    fn of_domain<T>(
        &self,
        entries: &[(Box<str>, T)],
        domain: Option<&str>,
        value: impl Fn(&T) -> Option<Value>,
    ) -> Value {
        let own = entries.iter().filter_map(|(name, entry)| {
            let (have, id) = self.split(name);
            (Some(have) == domain).then(|| Some((id, value(entry)?))).flatten()
        });
        Value::map(Map::of_strings(own))
    }

    fn attributes(&self, domain: Option<&str>) -> Value {
        self.of_domain(&self.device.attributes, domain, attribute_value)
    }

    fn capacities(&self, domain: Option<&str>) -> Value {
        self.of_domain(&self.device.capacity, domain, capacity_value)
    }

    fn by_domain<T>(
        &self,
        entries: &[(Box<str>, T)],
        of: fn(&Self, Option<&str>) -> Value,
    ) -> Value {
        let domains = entries.iter().map(|(name, _)| self.split(name).0);
        Value::map(Map::of_strings(domains.map(|domain| (domain, of(self, Some(domain))))))
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
