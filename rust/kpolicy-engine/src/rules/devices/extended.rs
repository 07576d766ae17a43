//! Extended resources behind which a class of devices stands, and the requests that stand for them.

use std::collections::BTreeMap;

use crate::model::{Ask, Container, DeviceClass, DeviceRequest, Mode, Quantity, Wanted};
use crate::resources::names;
use crate::snapshot::Cluster;
use crate::snapshot::pod::Containers;

/// Every class is a resource by its own name, too.
const IMPLICIT_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Which class stands behind a resource.
#[derive(Debug, Default)]
pub(crate) struct Classes<'a> {
    by_resource: BTreeMap<String, &'a DeviceClass>,
}

/// A container's resource, and the request that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) container: Box<str>,
    pub(crate) resource: Box<str>,
    pub(crate) request: Box<str>,
}

/// Whether devices may stand behind a resource of this name.
pub(crate) fn may_be_devices(name: &str) -> bool {
    names::is_extended(name) || name.starts_with(IMPLICIT_PREFIX)
}

impl<'a> Classes<'a> {
    /// Of two classes for one resource the newer counts, then the smaller name. One that loses to a
    /// class before it has no name of its own either.
    pub(crate) fn of(cluster: &'a Cluster) -> Self {
        let mut classes = Self::default();
        if !cluster.allocates_devices() {
            return classes;
        }
        for class in cluster.objects().device_classes.iter() {
            if let Some(resource) = &class.extended_resource {
                let key = |class: &DeviceClass| class.meta.creation_seconds.unwrap_or_default();
                let loses = |other: &&DeviceClass| key(other) >= key(class);
                if classes.by_resource.get(&**resource).is_some_and(loses) {
                    continue;
                }
                classes.by_resource.insert(resource.to_string(), class);
            }
            classes.by_resource.insert(format!("{IMPLICIT_PREFIX}{}", class.meta.name), class);
        }
        classes
    }

    pub(crate) fn class_of(&self, resource: &str) -> Option<&'a DeviceClass> {
        if may_be_devices(resource) { self.by_resource.get(resource).copied() } else { None }
    }
}

/// The requests that stand for these resources, by name, and which container has which.
pub(crate) fn requests(
    containers: &Containers,
    resources: &[&str],
    classes: &Classes<'_>,
) -> (Vec<DeviceRequest>, Vec<Mapping>) {
    let all: Vec<(&Container, bool)> = containers
        .init
        .iter()
        .map(|container| (container, container.restarts_always))
        .chain(containers.regular.iter().map(|container| (container, true)))
        .collect();
    let (mut requests, mut mappings) = (Vec::new(), Vec::new());
    for resource in resources {
        let Some(class) = classes.class_of(resource) else { continue };
        of_resource(&all, resource, &class.meta.name, &mut requests, &mut mappings);
    }
    requests.sort_by(|left: &DeviceRequest, right| left.name.cmp(&right.name));
    (requests, mappings)
}

/// What one container asks of one resource.
struct Asked {
    name: Box<str>,
    count: i64,
}

fn of_resource(
    containers: &[(&Container, bool)],
    resource: &str,
    class: &str,
    requests: &mut Vec<DeviceRequest>,
    mappings: &mut Vec<Mapping>,
) {
    let mut long_lived: Vec<Option<Asked>> = Vec::with_capacity(containers.len());
    for (index, (container, is_long_lived)) in containers.iter().enumerate() {
        let asked = if *is_long_lived { asked(index, container, resource) } else { None };
        if let Some(asked) = &asked {
            mappings.push(mapping(container, resource, &asked.name));
        }
        long_lived.push(asked);
    }
    // Init containers that end use what later containers get, and one request more for all of them.
    let mut short_lived: Vec<Mapping> = Vec::new();
    let mut own: Vec<Box<str>> = Vec::new();
    let mut largest: Option<Asked> = None;
    for (index, (container, is_long_lived)) in containers.iter().enumerate() {
        let Some(mut wanted) = asked(index, container, resource).filter(|_| !is_long_lived) else {
            continue;
        };
        for later in long_lived.iter().skip(index).flatten() {
            short_lived.push(mapping(container, resource, &later.name));
            wanted.count -= later.count;
            if wanted.count <= 0 {
                break;
            }
        }
        if wanted.count > 0 {
            short_lived.push(mapping(container, resource, &wanted.name));
            own.push(wanted.name.clone());
            if largest.as_ref().is_none_or(|largest| largest.count < wanted.count) {
                largest = Some(wanted);
            }
        }
    }
    if let Some(largest) = &largest {
        for mapping in short_lived.iter_mut().filter(|mapping| own.contains(&mapping.request)) {
            mapping.request = largest.name.clone();
        }
    }
    mappings.append(&mut short_lived);
    let all = largest.into_iter().chain(long_lived.into_iter().flatten());
    requests.extend(all.map(|Asked { name, count }| {
        let (class, mode) = (class.into(), Mode::Exact(count));
        let ask = Ask { name: name.clone(), class, mode, ..Ask::default() };
        DeviceRequest { name, wanted: Wanted::Exactly(ask) }
    }));
}

fn mapping(container: &Container, resource: &str, request: &str) -> Mapping {
    Mapping {
        container: container.name.clone(),
        resource: resource.into(),
        request: request.into(),
    }
}

fn asked(index: usize, container: &Container, resource: &str) -> Option<Asked> {
    let amount = container.requests.get(resource)?;
    let count = whole(*amount)?;
    let place = container.requests.iter().position(|(name, _)| name == resource)?;
    (count != 0).then(|| Asked { name: format!("container-{index}-request-{place}").into(), count })
}

fn whole(amount: Quantity) -> Option<i64> {
    let count = amount.units_rounded_up();
    (Quantity::from_units(count) == amount).then_some(count)
}
