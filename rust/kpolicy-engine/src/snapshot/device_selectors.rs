//! Compiled selectors of devices, by their texts.
//!
//! The texts come with classes and claims, long after a policy was loaded. The front end compiles
//! them: it asks which texts are wanted, and hands over what they compile to.

use std::collections::BTreeSet;

use kpolicy_cel::{Catalogue, Expression};
use rustc_hash::FxHashMap;

use crate::model::{Ask, Object, Wanted};

/// The facts of a device; an id is a place in this list.
pub(crate) const CATALOGUE: [&str; 8] = [
    "device.driver",
    "device.allowMultipleAllocations",
    "device.attributes",
    "device.attributes[]",
    "device.capacity",
    "device.capacity[]",
    "device.attributes?[]",
    "device.capacity?[]",
];

/// More compiled selectors than this are forgotten, and wanted again where they are used.
const SELECTORS_MAX: usize = 10_000;

/// What became of a text.
#[derive(Debug)]
pub(crate) enum Compiled {
    Ready(Expression),
    /// Why it does not compile.
    Refused(Box<str>),
}

#[derive(Debug, Default)]
pub(crate) struct Selectors {
    compiled: FxHashMap<Box<str>, Compiled>,
    wanted: BTreeSet<Box<str>>,
}

struct DeviceCatalogue;

impl Catalogue for DeviceCatalogue {
    fn fact(&self, name: &str) -> Option<u16> {
        let place = CATALOGUE.iter().position(|have| *have == name)?;
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
        self.compiled.get(text)
    }

    /// Texts of present objects that are not compiled.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(AsRef::as_ref)
    }

    /// Hands over what a text compiles to.
    pub(crate) fn load(&mut self, text: &str, compiled: Result<Expression, String>) {
        self.wanted.remove(text);
        if self.compiled.len() >= SELECTORS_MAX {
            self.compiled.clear();
        }
        let compiled = match compiled {
            Ok(expression) => Compiled::Ready(expression.resolved(&DeviceCatalogue)),
            Err(why) => Compiled::Refused(why.into()),
        };
        self.compiled.insert(text.into(), compiled);
    }

    /// Notes the texts of a class or a claim.
    pub(crate) fn see(&mut self, object: &Object) {
        match object {
            Object::DeviceClass(class) => self.want(&class.selectors),
            Object::ResourceClaim(claim) => {
                for request in claim.requests.iter() {
                    let asks: &[Ask] = match &request.wanted {
                        Wanted::Exactly(ask) => std::slice::from_ref(ask),
                        Wanted::FirstAvailable(asks) => asks,
                        Wanted::Unknown => &[],
                    };
                    asks.iter().for_each(|ask| self.want(&ask.selectors));
                }
            }
            _ => {}
        }
    }

    fn want(&mut self, texts: &[Option<Box<str>>]) {
        for text in texts.iter().flatten() {
            if !self.compiled.contains_key(text) {
                self.wanted.insert(text.clone());
            }
        }
    }
}
