//! An index of the classes of devices by the resource that each stands behind. It is made when it is
//! asked, after classes changed: there are few changes, and many questions.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::model::{DeviceClass, Kind};

use super::objects::{Replaced, Store};

/// Every class is a resource by its own name, too.
pub(crate) const IMPLICIT_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

#[derive(Debug, Default)]
pub(crate) struct ExtendedResources {
    classes: OnceLock<FxHashMap<Box<str>, Box<str>>>,
}

impl ExtendedResources {
    /// The name of the class that stands behind a resource.
    pub(super) fn class_of(&self, resource: &str, all: &Store<DeviceClass>) -> Option<&str> {
        self.classes.get_or_init(|| by_resource(all)).get(resource).map(AsRef::as_ref)
    }

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if replaced.kind == Kind::DeviceClass {
            self.classes = OnceLock::new();
        }
    }
}

/// Of two classes for one resource the newer counts, then the smaller name. One that loses to a class
/// before it has no name of its own either.
fn by_resource(all: &Store<DeviceClass>) -> FxHashMap<Box<str>, Box<str>> {
    let mut newest: FxHashMap<&str, i64> = FxHashMap::default();
    let mut classes: FxHashMap<Box<str>, Box<str>> = FxHashMap::default();
    for class in all.iter() {
        let name = &class.meta.name;
        if let Some(resource) = &class.extended_resource {
            let created = class.meta.creation_seconds.unwrap_or_default();
            if newest.get(&**resource).is_some_and(|newest| *newest >= created) {
                continue;
            }
            newest.insert(resource, created);
            classes.insert(resource.clone(), name.clone());
        }
        classes.insert(format!("{IMPLICIT_PREFIX}{name}").into(), name.clone());
    }
    classes
}
