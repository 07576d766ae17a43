//! What a pod has through its containers alone. It is worked out once for all pods with equal containers:
//! nearly every change of a pod leaves them as they were.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::intern::{Interner, Shared};
use crate::model::{self, HostPort};
use crate::resources::{Amounts, Requests, limits};

use super::pod::PodTables;

/// Images of init containers, then of containers, in source order and with duplicates.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Images {
    pub init_containers: Box<[Box<str>]>,
    pub containers: Box<[Box<str>]>,
}

/// Containers as specified: without what the status says of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Containers {
    pub init: Box<[model::Container]>,
    pub regular: Box<[model::Container]>,
}

/// The containers, and what follows from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfContainers {
    pub containers: Shared<Containers>,
    pub requests: Shared<Requests>,
    pub limits: Shared<Amounts>,
    pub ports: Shared<Box<[HostPort]>>,
    pub images: Shared<Images>,
}

/// By the ids of containers, until the next sweep.
#[derive(Debug, Default)]
pub(super) struct KnownContainers(FxHashMap<u64, OfContainers>);

impl KnownContainers {
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<(u64, OfContainers)>()
    }

    pub(super) fn clear(&mut self) {
        self.0 = FxHashMap::default();
    }
}

impl PodTables {
    /// Takes the containers of the pod.
    pub(super) fn of_containers(
        &mut self,
        pod: &mut model::Pod,
        names: &mut Interner<Arc<str>>,
    ) -> OfContainers {
        if !asks_by_containers_alone(pod) {
            return self.worked_out(pod, names);
        }
        let containers = self.take_containers(pod);
        if let Some(known) = self.known.0.get(&containers.id()) {
            return known.clone();
        }
        (pod.init_containers, pod.containers) =
            (containers.init.clone(), containers.regular.clone());
        let found = self.worked_out(pod, names);
        self.known.0.insert(containers.id(), found.clone());
        found
    }

    fn worked_out(&mut self, pod: &mut model::Pod, names: &mut Interner<Arc<str>>) -> OfContainers {
        let image_names = |containers: &[model::Container]| {
            containers.iter().map(|container| container.image.clone()).collect()
        };
        let images = Images {
            init_containers: image_names(&pod.init_containers),
            containers: image_names(&pod.containers),
        };
        OfContainers {
            requests: self.requests.intern(Requests::of(pod, self.resize_rule, names)),
            limits: self.limits.intern(limits(pod, names)),
            ports: self.ports.intern(wanted_ports(pod)),
            images: self.images.intern(images),
            containers: self.take_containers(pod),
        }
    }

    fn take_containers(&mut self, pod: &mut model::Pod) -> Shared<Containers> {
        self.containers.intern(Containers {
            init: specified(std::mem::take(&mut pod.init_containers)),
            regular: specified(std::mem::take(&mut pod.containers)),
        })
    }
}

/// Whether neither the pod as a whole nor a status says what it asks for.
fn asks_by_containers_alone(pod: &model::Pod) -> bool {
    let mut containers = pod.init_containers.iter().chain(&pod.containers);
    pod.pod_level_requests.is_none()
        && pod.status_resources.is_none()
        && !pod.resize_infeasible
        && pod.overhead.iter().next().is_none()
        && pod.pod_level_limits.iter().next().is_none()
        && containers.all(|container| container.status.is_none())
}

fn specified(mut containers: Box<[model::Container]>) -> Box<[model::Container]> {
    containers.iter_mut().for_each(|container| container.status = None);
    containers
}

/// Ordinary init containers are done before the pod holds a port.
fn wanted_ports(pod: &model::Pod) -> Box<[HostPort]> {
    let sidecars = pod.init_containers.iter().filter(|container| container.restarts_always);
    let mut ports: Vec<HostPort> = sidecars
        .chain(&pod.containers)
        .flat_map(|container| container.host_ports.iter().cloned())
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::intern::Interner;
    use crate::model::pod::StatusResources;
    use crate::model::{Container, Pod, Quantity, ResourceList};
    use crate::snapshot::pod::PodTables;

    fn cpu(units: i64) -> ResourceList {
        [("cpu", Quantity::from_units(units))].into_iter().collect()
    }

    fn asking(units: i64) -> Pod {
        let container = Container { requests: cpu(units), ..Container::default() };
        Pod { containers: [container].into(), ..Pod::default() }
    }

    #[test]
    fn equal_containers_ask_for_the_same_unless_the_pod_or_its_status_says_more() {
        let (mut tables, mut names) = (PodTables::default(), Interner::<Arc<str>>::default());
        let mut held = |pod: &Pod| tables.row(pod.clone(), &mut names).requests().held.cpu_milli;
        let plain = asking(2);
        let mut resized = asking(2);
        for container in &mut resized.containers {
            let status = StatusResources { requests: Some(cpu(3)), allocated: cpu(3) };
            container.status = Some(Box::new(status));
        }
        let heavier = Pod { overhead: cpu(4), ..asking(2) };
        let of_the_whole = Pod { pod_level_requests: Some(cpu(7)), ..asking(2) };
        for _ in 0..2 {
            assert_eq!(held(&plain), 2_000);
            assert_eq!(held(&resized), 3_000);
            assert_eq!(held(&heavier), 6_000);
            assert_eq!(held(&of_the_whole), 7_000);
            assert_eq!(held(&asking(5)), 5_000);
        }
    }

    #[test]
    fn what_was_known_goes_with_a_sweep() {
        let (mut tables, mut names) = (PodTables::default(), Interner::<Arc<str>>::default());
        let empty = tables.bytes();
        tables.row(asking(2), &mut names);
        assert!(tables.bytes() > empty);
        tables.sweep();
        assert_eq!(tables.bytes(), empty);
        assert_eq!(tables.row(asking(2), &mut names).requests().held.cpu_milli, 2_000);
    }
}
