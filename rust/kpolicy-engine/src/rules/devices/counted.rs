//! How many of the devices that slices give a node a rule means: those that a class selects, or those
//! with a value of an attribute; and how many of them no claim has anything of.

use kpolicy_cel::{Budget, ErrorKind, Fault, Value};

use crate::model::{Attribute, DeviceClass};
use crate::snapshot::Cluster;
use crate::snapshot::device_rows::{Columned, Row};
use crate::snapshot::device_selectors::Compiled;
use crate::snapshot::device_slices::Published;

use super::constraints::attribute_of;
use super::device_facts::DeviceFacts;
use super::remembered::Remembered;
use super::work::{
    ASKING, DEVICE, ENTRIES_SEARCHED, SELECTOR, SELECTOR_BYTES, SLICE, SLICES_COMPARED,
};

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
/// of a class that is not there, or whose selectors err. `budget` is charged for each slice, device and
/// selector when it is looked at.
pub(crate) fn counted(
    cluster: &Cluster,
    node: &str,
    meant: Meant<'_>,
    budget: &mut Budget,
) -> Result<Counted, Fault> {
    let mut counted = Counted::default();
    let mut asked = match meant {
        Meant::OfClass(name) => match class_of(cluster, name) {
            Some(class) => Some(MeantClass::of(class, cluster, budget)?),
            None => return Ok(counted),
        },
        Meant::With { .. } => None,
    };
    let published = &cluster.objects().device_slices;
    let own = published.of_node(node).unwrap_or_default();
    budget.charge(own.len() as u64 * (SLICE + (own.len() / SLICES_COMPARED) as u64))?;
    let is_newest = |one: &&Published| {
        let slice = &one.slice;
        !own.iter().any(|other| {
            let other = &other.slice;
            (&other.driver, &other.pool) == (&slice.driver, &slice.pool)
                && other.generation > slice.generation
        })
    };
    let newest = own.iter().filter(is_newest).map(|one| published.columned(one));
    for row in newest.flat_map(Columned::rows) {
        let slice = row.of().slice;
        budget.charge(DEVICE)?;
        let is_meant = match (meant, &mut asked) {
            (Meant::With { driver, attribute, value }, _) => {
                budget.charge((row.attributes_count() / ENTRIES_SEARCHED) as u64)?;
                *slice.driver == *driver
                    && attribute_of(row, driver, attribute).is_some_and(|own| is(own, value))
            }
            (Meant::OfClass(_), Some(asked)) => asked.accepts(row, budget)?,
            (Meant::OfClass(_), None) => false,
        };
        if is_meant {
            let in_use = &cluster.objects().devices_in_use;
            let used = in_use.pool(&slice.driver, &slice.pool);
            let is_free = used.is_none_or(|pool| !row.is_held(pool));
            counted.all += 1;
            counted.free += i64::from(is_free);
        }
    }
    Ok(counted)
}

fn class_of<'c>(cluster: &'c Cluster, name: &str) -> Option<&'c DeviceClass> {
    cluster.objects().device_classes.get("", name).map(|class| &**class)
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
struct MeantClass<'c> {
    remembered: Remembered<'c>,
    /// `None`: a selector of another type, which accepts nothing.
    places: Vec<Option<usize>>,
}

impl<'c> MeantClass<'c> {
    fn of(
        class: &'c DeviceClass,
        cluster: &'c Cluster,
        budget: &mut Budget,
    ) -> Result<Self, Fault> {
        let mut remembered = Remembered::default();
        let mut places = Vec::with_capacity(class.selectors.len());
        for text in &class.selectors {
            let bytes = text.as_deref().map_or(0, str::len);
            budget.charge(SELECTOR + (bytes / SELECTOR_BYTES) as u64)?;
            places.push(text.as_deref().map(|text| remembered.place_of(text, cluster)));
        }
        Ok(Self { remembered, places })
    }

    fn accepts(&mut self, row: Row<'c>, budget: &mut Budget) -> Result<bool, Fault> {
        let facts = DeviceFacts { driver: &row.of().slice.driver, row };
        for place in &self.places {
            let selector = place.and_then(|place| self.remembered.get_mut(place));
            let Some(selector) = selector else { return Ok(false) };
            let Some(Compiled::Ready(expression, _)) = selector.compiled else { return Ok(false) };
            let (known, units) = selector.known(&facts);
            budget.charge(units)?;
            let accepts = match known {
                Some(known) => known,
                None => {
                    budget.charge(ASKING)?;
                    let accepts = match expression.evaluate(&facts, budget) {
                        Ok(Value::Bool(accepts)) => accepts,
                        Err(error) if error.kind == ErrorKind::CostExceeded => {
                            return Err(budget.exhausted());
                        }
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
