//! Constraints over the devices of one claim.

use std::collections::BTreeMap;

use crate::model::{Attribute, ClaimConstraint, ConstraintKind};
use crate::release::{Followed, Gate};
use crate::snapshot::device_rows::Row;

use super::requests::Request;

/// A constraint, with what it knows of the devices chosen so far.
#[derive(Debug)]
pub(super) struct Constraint<'a> {
    requests: &'a [Box<str>],
    attribute: &'a str,
    devices: usize,
    values: Values<'a>,
}

#[derive(Debug)]
enum Values<'a> {
    /// All are equal to that of the first device.
    Match(Option<&'a Attribute>),
    /// 1.36: the last value of each request, by its name.
    DistinctByRequest(BTreeMap<&'a str, &'a Attribute>),
    Distinct(Vec<&'a Attribute>),
}

impl<'a> Constraint<'a> {
    /// `None` for a constraint of another type, also of one that comes with a gate that is off.
    /// `repairs`: it compares with every device, and not as 1.36 does.
    pub(super) fn of(
        written: &'a ClaimConstraint,
        followed: Followed,
        repairs: bool,
    ) -> Option<Self> {
        let knows_distinct = followed.has(Gate::DRAConsumableCapacity);
        let (attribute, values): (&str, _) = match &written.kind {
            ConstraintKind::Match(attribute) => (attribute, Values::Match(None)),
            ConstraintKind::Distinct(_) if !knows_distinct => return None,
            ConstraintKind::Distinct(attribute) if repairs => {
                (attribute, Values::Distinct(Vec::new()))
            }
            ConstraintKind::Distinct(attribute) => {
                (attribute, Values::DistinctByRequest(BTreeMap::new()))
            }
            ConstraintKind::Unknown => return None,
        };
        Some(Self { requests: &written.requests, attribute, devices: 0, values })
    }

    fn binds(&self, request: &Request<'a>) -> bool {
        self.requests.is_empty() || request.is_among(self.requests)
    }

    /// What adding a device and removing it takes, at this price for what is found at once.
    pub(super) fn units(&self, price: u64) -> u64 {
        let values = match &self.values {
            Values::Match(_) => 0,
            Values::DistinctByRequest(values) => values.len(),
            Values::Distinct(values) => values.len(),
        };
        price + (self.requests.len() + values) as u64
    }

    /// Whether the device can be added; if so, it is.
    pub(super) fn add(&mut self, request: &Request<'a>, driver: &str, row: Row<'a>) -> bool {
        if !self.binds(request) {
            return true;
        }
        let Some(attribute) = attribute_of(row, driver, self.attribute) else { return false };
        let is_first = self.devices == 0;
        match &mut self.values {
            Values::Match(value) if is_first => *value = Some(attribute),
            Values::Match(value) => {
                if *attribute == Attribute::Unknown || *value != Some(attribute) {
                    return false;
                }
            }
            Values::DistinctByRequest(values) => {
                if !is_first && !differs(values.values().copied(), attribute) {
                    return false;
                }
                values.insert(request.base, attribute);
            }
            Values::Distinct(values) => {
                if !is_first && !differs(values.iter().copied(), attribute) {
                    return false;
                }
                values.push(attribute);
            }
        }
        self.devices += 1;
        true
    }

    /// Undoes the last successful `add` of this device.
    pub(super) fn remove(&mut self, request: &Request<'a>, driver: &str, row: Row<'a>) {
        if !self.binds(request) {
            return;
        }
        self.devices = self.devices.saturating_sub(1);
        match &mut self.values {
            Values::Match(_) => {}
            Values::DistinctByRequest(values) => {
                values.remove(request.base);
            }
            Values::Distinct(values) => {
                let own = attribute_of(row, driver, self.attribute);
                if let Some(place) = values.iter().rposition(|value| Some(*value) == own) {
                    values.remove(place);
                }
            }
        }
    }
}

fn differs<'a>(mut values: impl Iterator<Item = &'a Attribute>, attribute: &Attribute) -> bool {
    values.all(|value| *attribute != Attribute::Unknown && value != attribute)
}

/// By its full name, or by its bare name if its domain is the driver.
pub(super) fn attribute_of<'a>(row: Row<'a>, driver: &str, name: &str) -> Option<&'a Attribute> {
    row.attribute(name).or_else(|| {
        let (domain, bare) = name.split_once('/')?;
        if domain == driver { row.attribute(bare) } else { None }
    })
}
