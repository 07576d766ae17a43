//! Extended resources behind which a class of devices stands, and the requests that stand for them.

use crate::model::{Ask, Container, DeviceRequest, Mode, Quantity, Wanted};
use crate::release::{Followed, Gate};
use crate::resources::names;
use crate::snapshot::Cluster;
use crate::snapshot::containers::Containers;
use crate::snapshot::extended_resources::IMPLICIT_PREFIX;

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

/// The name of the class of devices that stands behind a resource.
pub(crate) fn class_behind<'a>(
    resource: &str,
    cluster: &'a Cluster,
    followed: Followed,
) -> Option<&'a str> {
    let is_asked = followed.has(Gate::DRAExtendedResource) && may_be_devices(resource);
    if is_asked { cluster.objects().class_behind(resource) } else { None }
}

/// The requests that stand for resources with the classes behind them, by name, and which container has
/// which.
pub(crate) fn requests(
    containers: &Containers,
    resources: &[(&str, &str)],
) -> (Vec<DeviceRequest>, Vec<Mapping>) {
    let all: Vec<(&Container, bool)> = containers
        .init
        .iter()
        .map(|container| (container, container.restarts_always))
        .chain(containers.regular.iter().map(|container| (container, true)))
        .collect();
    let (mut requests, mut mappings) = (Vec::new(), Vec::new());
    for (resource, class) in resources {
        of_resource(&all, resource, class, &mut requests, &mut mappings);
    }
    requests.sort_by(|left: &DeviceRequest, right| left.name.cmp(&right.name));
    (requests, mappings)
}

/// What one container asks of one resource.
struct ContainerRequest {
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
    let mut long_lived: Vec<Option<ContainerRequest>> = Vec::with_capacity(containers.len());
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
    let mut largest: Option<ContainerRequest> = None;
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
    requests.extend(all.map(|ContainerRequest { name, count }| {
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

fn asked(index: usize, container: &Container, resource: &str) -> Option<ContainerRequest> {
    let amount = container.requests.get(resource)?;
    let count = whole(*amount)?;
    let place = container.requests.iter().position(|(name, _)| name == resource)?;
    (count != 0).then(|| ContainerRequest {
        name: format!("container-{index}-request-{place}").into(),
        count,
    })
}

fn whole(amount: Quantity) -> Option<i64> {
    let count = amount.units_rounded_up();
    (Quantity::from_units(count) == amount).then_some(count)
}
