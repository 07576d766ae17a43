//! Which devices of a slice have the same of all that a selector looks at, by the columns of the slice.

use crate::snapshot::device_reads::DeviceRead;
use crate::snapshot::device_rows::{Columned, Row};

use super::device_facts::{DeviceFacts, is_named, split};

/// What a selector looks at of the devices of the slice that it is asked about, and which of them are of
/// a known kind.
#[derive(Debug, Default)]
pub(super) struct Alike<'a> {
    slice: Option<Columned<'a>>,
    /// Places of the names of attributes whose values it looks at.
    values: Vec<usize>,
    /// Of those of which it only looks whether there is any, one list after another.
    any_of: Vec<Vec<usize>>,
    at_capacity: bool,
    at_flags: bool,
    /// What it looked at of known devices, as numbers, and their kinds.
    known: Vec<u32>,
    kinds: Vec<usize>,
    /// Of the device that it was asked about last.
    own: Vec<u32>,
}

impl<'a> Alike<'a> {
    /// The kind of a device, if one of the slice that has the same is known.
    pub(super) fn kind_of(
        &mut self,
        facts: &DeviceFacts<'a>,
        reads: &[DeviceRead],
    ) -> Option<usize> {
        let of = facts.row.of();
        if !self.slice.is_some_and(|slice| slice.is(of)) {
            self.begin(of, facts.driver, reads);
        }
        of.names()?;
        self.number(facts.row);
        let size = self.own.len();
        let is_known = |place: &usize| {
            self.known.get(place * size..(place + 1) * size) == Some(self.own.as_slice())
        };
        let place = (0..self.kinds.len()).find(is_known)?;
        self.kinds.get(place).copied()
    }

    /// The device that it was asked about last is of this kind.
    pub(super) fn note(&mut self, kind: usize) {
        if self.slice.is_some_and(|slice| slice.names().is_some()) {
            self.known.extend_from_slice(&self.own);
            self.kinds.push(kind);
        }
    }

    fn begin(&mut self, of: Columned<'a>, driver: &str, reads: &[DeviceRead]) {
        *self = Self { slice: Some(of), ..Self::default() };
        let names = || of.names().unwrap_or_default().iter().enumerate();
        for read in reads {
            match read {
                DeviceRead::Driver => {}
                DeviceRead::IsShared => self.at_flags = true,
                DeviceRead::Attribute(domain, name) => {
                    let is_meant = |have: &str| is_named(driver, have, Some(domain), name);
                    let meant = names().filter(|(_, have)| is_meant(have));
                    self.values.extend(meant.map(|(place, _)| place));
                }
                DeviceRead::Capacity(..) | DeviceRead::CapacitiesOf(_) => self.at_capacity = true,
                DeviceRead::AttributesOf(domain) => {
                    let is_meant = |have: &str| split(driver, have).0 == &**domain;
                    let meant = names().filter(|(_, have)| is_meant(have));
                    self.any_of.push(meant.map(|(place, _)| place).collect());
                }
            }
        }
    }

    fn number(&mut self, row: Row<'a>) {
        self.own.clear();
        self.own.extend(self.values.iter().map(|name| u32::from(row.number(*name))));
        let has_any = |names: &Vec<usize>| names.iter().any(|name| row.has(*name));
        self.own.extend(self.any_of.iter().map(|names| u32::from(has_any(names))));
        if self.at_capacity {
            self.own.push(row.numbers().0);
        }
        if self.at_flags {
            self.own.push(u32::from(row.flags().is_shared()));
        }
    }
}
