//! What a selector looks at of a device: devices that are alike in it get the same answer.

use kpolicy_cel::{Expression, FieldRead};

use super::device_selectors::DeviceFact;

/// Something that a selector looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeviceRead {
    Driver,
    IsShared,
    /// By domain and name.
    Attribute(Box<str>, Box<str>),
    Capacity(Box<str>, Box<str>),
    /// Whether it has any of a domain.
    AttributesOf(Box<str>),
    CapacitiesOf(Box<str>),
}

/// All that a selector looks at; `None` where that is not a list of single values.
pub(super) fn device_reads(expression: &Expression) -> Option<Box<[DeviceRead]>> {
    let mut reads: Vec<DeviceRead> = Vec::new();
    for field in expression.fields_read() {
        let read = device_read(field)?;
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    Some(reads.into())
}

fn device_read(field: FieldRead<'_>) -> Option<DeviceRead> {
    let read = field.read?;
    let named = || Some((read.key()?.into(), field.field?.into()));
    match DeviceFact::of(read)? {
        DeviceFact::Driver => Some(DeviceRead::Driver),
        DeviceFact::IsShared => Some(DeviceRead::IsShared),
        DeviceFact::AttributesOf => {
            named().map(|(domain, name)| DeviceRead::Attribute(domain, name))
        }
        DeviceFact::CapacitiesOf => {
            named().map(|(domain, name)| DeviceRead::Capacity(domain, name))
        }
        DeviceFact::HasAttributesOf => Some(DeviceRead::AttributesOf(read.key()?.into())),
        DeviceFact::HasCapacitiesOf => Some(DeviceRead::CapacitiesOf(read.key()?.into())),
        DeviceFact::Attributes | DeviceFact::Capacities => None,
    }
}
