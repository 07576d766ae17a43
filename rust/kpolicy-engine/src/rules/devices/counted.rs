//! How many of the devices that slices give a node a rule means: those that a class selects, or those
//! with a value of an attribute; and how many of them no claim has anything of.

use kpolicy_cel::{Budget, ErrorKind, Value};

use crate::model::{Attribute, Device, DeviceClass, ResourceSlice};
use crate::snapshot::Cluster;
use crate::snapshot::device_selectors::Compiled;

use super::constraints::attribute_of;
use super::device_facts::DeviceFacts;
use super::remembered::Remembered;
use super::work::{ENTRIES_SEARCHED, TooMuch};

/// What asking a selector about a device is charged as, and what it may spend at most.
const SELECTOR: u64 = 64;
const SELECTOR_UNITS_MAX: u64 = 256;

/// Which devices are meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Meant<'q> {
    OfClass(&'q str),
    /// The value as text.
    With {
        driver: &'q str,
        attribute: &'q str,
        value: &'q str,
    },
}

/// How many there are, and how many of them are free.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) all: i64,
    pub(crate) free: i64,
}

/// Counts the devices of slices that name the node, of each pool those of its newest generation. None is
/// of a class that is not there, or whose selectors err.
pub(crate) fn counted(cluster: &Cluster, node: &str, meant: Meant<'_>) -> Result<Counted, TooMuch> {
    let mut counted = Counted::default();
    let mut asked = match meant {
        Meant::OfClass(name) => match class_of(cluster, name) {
            Some(class) => Some(Asked::of(class, cluster)),
            None => return Ok(counted),
        },
        Meant::With { .. } => None,
    };
    for (slice, device) in devices(cluster, node) {
        let is_meant = match (meant, &mut asked) {
            (Meant::With { driver, attribute, value }, _) => {
                *slice.driver == *driver
                    && attribute_of(device, driver, attribute).is_some_and(|own| is(own, value))
            }
            (Meant::OfClass(_), Some(asked)) => asked.accepts(slice, device)?,
            (Meant::OfClass(_), None) => false,
        };
        if is_meant {
            let in_use = &cluster.objects().devices_in_use;
            let used = in_use.pool(&slice.driver, &slice.pool);
            let is_free = used.is_none_or(|pool| !pool.contains_key(&*device.name));
            counted.all += 1;
            counted.free += i64::from(is_free);
        }
    }
    Ok(counted)
}

/// What counting is charged as.
pub(crate) fn units_of_counting(cluster: &Cluster, node: &str, meant: Meant<'_>) -> u64 {
    let of_device: fn(&Device) -> u64 =
        |device| 1 + (device.attributes.len() / ENTRIES_SEARCHED) as u64;
    let selectors = match meant {
        Meant::OfClass(name) => class_of(cluster, name).map_or(0, |class| class.selectors.len()),
        Meant::With { .. } => 0,
    };
    let each = devices(cluster, node).map(|(_, device)| of_device(device));
    each.map(|units| units + selectors as u64 * SELECTOR).sum()
}

fn class_of<'c>(cluster: &'c Cluster, name: &str) -> Option<&'c DeviceClass> {
    cluster.objects().device_classes.get("", name).map(|class| &**class)
}

/// Devices of slices that name the node, without those of older generations of their pools.
fn devices<'c>(
    cluster: &'c Cluster,
    node: &str,
) -> impl Iterator<Item = (&'c ResourceSlice, &'c Device)> {
    let own = cluster.objects().device_slices.of_node(node).unwrap_or_default();
    let is_newest = move |slice: &&ResourceSlice| {
        !own.iter().any(|other| {
            let other = &other.slice;
            (&other.driver, &other.pool) == (&slice.driver, &slice.pool)
                && other.generation > slice.generation
        })
    };
    let slices = own.iter().map(|one| &*one.slice).filter(is_newest);
    slices.flat_map(|slice| slice.devices.iter().map(move |device| (slice, device)))
}

/// Whether an attribute has the value that is written so.
fn is(attribute: &Attribute, value: &str) -> bool {
    match attribute {
        Attribute::Int(number) => value.parse() == Ok(*number),
        Attribute::Bool(true) => value == "true",
        Attribute::Bool(false) => value == "false",
        Attribute::Text(text) | Attribute::Version(text) => **text == *value,
        Attribute::Unknown => false,
    }
}

/// A class, and what its selectors said of devices before.
struct Asked<'c> {
    remembered: Remembered<'c>,
    /// `None`: a selector of another type, which accepts nothing.
    places: Vec<Option<usize>>,
}

impl<'c> Asked<'c> {
    fn of(class: &'c DeviceClass, cluster: &'c Cluster) -> Self {
        let mut remembered = Remembered::default();
        let texts = class.selectors.iter();
        let places =
            texts.map(|text| Some(remembered.place_of(text.as_deref()?, cluster))).collect();
        Self { remembered, places }
    }

    fn accepts(&mut self, slice: &'c ResourceSlice, device: &'c Device) -> Result<bool, TooMuch> {
        let facts = DeviceFacts { driver: &slice.driver, device };
        for place in &self.places {
            let selector = place.and_then(|place| self.remembered.get_mut(place));
            let Some(selector) = selector else { return Ok(false) };
            let Some(Compiled::Ready(expression, _)) = selector.compiled else { return Ok(false) };
            let accepts = match selector.known(&facts) {
                Some(known) => known,
                None => {
                    let mut budget = Budget::new(SELECTOR_UNITS_MAX);
                    let accepts = match expression.evaluate(&facts, &mut budget) {
                        Ok(Value::Bool(accepts)) => accepts,
                        Err(error) if error.kind == ErrorKind::CostExceeded => return Err(TooMuch),
                        _ => false,
                    };
                    selector.keep(accepts);
                    accepts
                }
            };
            if !accepts {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
