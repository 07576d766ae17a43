//! Compiled selectors of devices, by their texts.
//!
//! The texts come with classes and claims, long after a policy was loaded. The front end compiles
//! them: it asks which texts are wanted, and hands over what they compile to.

use std::collections::BTreeSet;

use kpolicy_cel::{Catalogue, Expression, Read};
use rustc_hash::FxHashMap;

use crate::model::{Ask, Object, Wanted};

use super::device_reads::{DeviceRead, device_reads};
use super::objects::Replaced;

/// A fact of a device. Domains are an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceFact {
    Driver,
    IsShared,
    Attributes,
    AttributesOf,
    HasAttributesOf,
    Capacities,
    CapacitiesOf,
    HasCapacitiesOf,
}

/// The facts of a device by name; an id is a place in this list.
const CATALOGUE: [(&str, DeviceFact); 8] = [
    ("device.driver", DeviceFact::Driver),
    ("device.allowMultipleAllocations", DeviceFact::IsShared),
    ("device.attributes", DeviceFact::Attributes),
    ("device.attributes[]", DeviceFact::AttributesOf),
    ("device.capacity", DeviceFact::Capacities),
    ("device.capacity[]", DeviceFact::CapacitiesOf),
    ("device.attributes?[]", DeviceFact::HasAttributesOf),
    ("device.capacity?[]", DeviceFact::HasCapacitiesOf),
];

impl DeviceFact {
    /// The fact that an expression reads.
    pub(crate) fn of(read: &Read) -> Option<Self> {
        CATALOGUE.get(usize::from(read.fact.id)).map(|(_, fact)| *fact)
    }
}

/// What became of a text.
#[derive(Debug)]
pub(crate) enum Compiled {
    /// With what it looks at, where that is a list of single values.
    Ready(Expression, Option<Box<[DeviceRead]>>),
    /// Why it does not compile.
    Refused(Box<str>),
}

/// A text that is used.
#[derive(Debug, Default)]
struct Used {
    /// How often present objects have it.
    times: usize,
    compiled: Option<Compiled>,
}

#[derive(Debug, Default)]
pub(crate) struct Selectors {
    used: FxHashMap<Box<str>, Used>,
    wanted: BTreeSet<Box<str>>,
}

struct DeviceCatalogue;

impl Catalogue for DeviceCatalogue {
    fn fact(&self, name: &str) -> Option<u16> {
        let place = CATALOGUE.iter().position(|(have, _)| *have == name)?;
        u16::try_from(place).ok()
    }

    fn column_kernels(&self, _: &str) -> Option<u64> {
        None
    }

    fn member(&self, _: &str) -> Option<u16> {
        None
    }
}

impl Selectors {
    pub(crate) fn get(&self, text: &str) -> Option<&Compiled> {
        self.used.get(text)?.compiled.as_ref()
    }

    /// Texts of present objects that are not compiled.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(AsRef::as_ref)
    }

    /// Hands over what a text compiles to.
    pub(crate) fn load(&mut self, text: &str, compiled: Result<Expression, String>) {
        self.wanted.remove(text);
        let Some(used) = self.used.get_mut(text) else { return };
        let compiled = match compiled {
            Ok(expression) => {
                let expression = expression.resolved(&DeviceCatalogue);
                let reads = device_reads(&expression);
                Compiled::Ready(expression, reads)
            }
            Err(why) => Compiled::Refused(why.into()),
        };
        used.compiled = Some(compiled);
    }

    /// Follows the texts of classes and claims. What nobody has any more is forgotten.
    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if let Some(new) = &replaced.new {
            each_text(new, |text| self.take_up(text));
        }
        if let Some(old) = &replaced.old {
            each_text(old, |text| self.give_up(text));
        }
    }

    fn take_up(&mut self, text: &str) {
        if let Some(used) = self.used.get_mut(text) {
            used.times += 1;
        } else {
            self.used.insert(text.into(), Used { times: 1, compiled: None });
            self.wanted.insert(text.into());
        }
    }

    fn give_up(&mut self, text: &str) {
        let Some(used) = self.used.get_mut(text) else { return };
        used.times = used.times.saturating_sub(1);
        if used.times == 0 {
            self.used.remove(text);
            self.wanted.remove(text);
        }
    }
}

/// The texts of a class or a claim.
fn each_text(object: &Object, mut with: impl FnMut(&str)) {
    let mut texts = |texts: &[Option<Box<str>>]| {
        texts.iter().flatten().for_each(|text| with(text));
    };
    match object {
        Object::DeviceClass(class) => texts(&class.selectors),
        Object::ResourceClaim(claim) => {
            for request in claim.requests.iter() {
                let asks: &[Ask] = match &request.wanted {
                    Wanted::Exactly(ask) => std::slice::from_ref(ask),
                    Wanted::FirstAvailable(asks) => asks,
                    Wanted::Unknown => &[],
                };
                asks.iter().for_each(|ask| texts(&ask.selectors));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{DeviceClass, Kind, Meta, Object};
    use crate::snapshot::Cluster;

    #[test]
    fn a_selector_is_kept_as_long_as_an_object_has_it() {
        let mut cluster = Cluster::default();
        for name in ["a", "b"] {
            let meta = Meta { name: name.into(), ..Meta::default() };
            let selectors = [Some("true".into())].into();
            let class = DeviceClass { meta, selectors, ..DeviceClass::default() };
            cluster.set_object(Object::DeviceClass(class.into()));
        }
        assert_eq!(cluster.objects().selectors.wanted().collect::<Vec<_>>(), ["true"]);
        cluster.load_selector("true", Err("no".to_owned()));
        assert_eq!(cluster.objects().selectors.wanted().count(), 0);
        cluster.remove_object(Kind::DeviceClass, "", "a");
        assert!(cluster.objects().selectors.get("true").is_some());
        cluster.remove_object(Kind::DeviceClass, "", "b");
        assert!(cluster.objects().selectors.get("true").is_none());
    }
}
