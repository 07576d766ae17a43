//! What a pod holds of its node while a resize may be in progress: of what it requests, was allocated
//! and uses, as the [`ResizeRule`] says.
//!
//! An empty list in a status is as good as none: the API server leaves it out.

use crate::model::pod::StatusResources;
use crate::model::{Container, Pod, ResourceList};

use super::pod::{Defaults, has_pod_level_requests};
use super::sums::{Sums, over_containers};

/// What a pod holds of its node while it is resized, of what it requests, was allocated and uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ResizeRule {
    /// The largest of the three of each container. Requests of the pod as a whole are not resized.
    EachContainer,
    /// So, and the largest of the three of requests of the pod as a whole.
    EachContainerAndPod,
    /// The largest of three sums over the containers, or over the pod as its status has them.
    #[default]
    LargestSum,
}

impl ResizeRule {
    /// Every rule, each at the place of its number.
    pub(crate) const ALL: [Self; 3] =
        [Self::EachContainer, Self::EachContainerAndPod, Self::LargestSum];
}

/// Of which list of a container a sum is.
#[derive(Clone, Copy)]
enum Summed {
    Requested,
    Allocated,
    Used,
}

pub(super) fn held_sums(pod: &Pod, rule: ResizeRule, defaults: Defaults) -> Sums<'_> {
    let mut running = match rule {
        ResizeRule::LargestSum => largest_sum(pod, defaults),
        ResizeRule::EachContainer | ResizeRule::EachContainerAndPod => {
            let largest = |container, is_resizable| {
                defaults.fill(largest_of_container(pod, container, is_resizable))
            };
            over_containers(pod, largest)
        }
    };
    replace_by_pod_level(&mut running, pod, rule);
    running.add(&Sums::of(&pod.overhead));
    running
}

fn largest_of_container<'a>(pod: &Pod, container: &'a Container, is_resizable: bool) -> Sums<'a> {
    let status = container.status.as_deref().filter(|_| is_resizable);
    match status.filter(|status| status.requests.is_some()) {
        Some(status) => largest(pod, &container.requests, status),
        None => Sums::of(&container.requests),
    }
}

/// What is requested counts unless the node can never give it.
fn largest<'a>(pod: &Pod, requested: &'a ResourceList, status: &'a StatusResources) -> Sums<'a> {
    let mut largest = Sums::of(&status.allocated);
    let requested = Some(requested).filter(|_| !pod.resize_infeasible);
    for list in status.requests.iter().chain(requested) {
        largest.raise_to(list);
    }
    largest
}

fn largest_sum(pod: &Pod, defaults: Defaults) -> Sums<'_> {
    let of_containers = |summed: Summed| {
        over_containers(pod, |container, _| {
            let list = summed.of(container, pod.resize_infeasible);
            defaults.fill(list.map(Sums::of).unwrap_or_default())
        })
    };
    let mut largest = match pod.status_resources.as_deref() {
        Some(StatusResources { requests: Some(used), allocated })
            if !used.is_empty() && !allocated.is_empty() =>
        {
            let mut sums = Sums::of(allocated);
            sums.raise_to(used);
            sums
        }
        _ => {
            let mut sums = of_containers(Summed::Allocated);
            sums.raise(&of_containers(Summed::Used));
            sums
        }
    };
    if !pod.resize_infeasible {
        largest.raise(&of_containers(Summed::Requested));
    }
    largest
}

impl Summed {
    /// The list of a container; where the status does not have it, the one that it came from.
    fn of(self, container: &Container, is_infeasible: bool) -> Option<&ResourceList> {
        let status = container.status.as_deref();
        let used = status.and_then(|status| status.requests.as_ref());
        let used = used.filter(|list| !list.is_empty());
        let allocated = status.map(|status| &status.allocated).filter(|list| !list.is_empty());
        let requested = Some(&container.requests);
        match self {
            Self::Requested => requested,
            Self::Allocated => allocated.or(requested.filter(|_| !is_infeasible)),
            Self::Used => used.or(allocated).or(requested.filter(|_| !is_infeasible)),
        }
    }
}

fn replace_by_pod_level<'a>(running: &mut Sums<'a>, pod: &'a Pod, rule: ResizeRule) {
    let Some(requested) = &pod.pod_level_requests else { return };
    if !has_pod_level_requests(pod) {
        return;
    }
    let status = pod.status_resources.as_deref();
    let status = status.filter(|status| status.requests.is_some());
    let level = match (rule, status) {
        (ResizeRule::EachContainer, _) | (_, None) => Sums::of(requested),
        (ResizeRule::LargestSum, Some(status)) => largest(pod, requested, status),
        (ResizeRule::EachContainerAndPod, Some(status)) => {
            // Only what the spec names, nothing of it where the status does not have it.
            let found = largest(pod, requested, status);
            let mut named = Sums::of(requested);
            for (name, _) in requested.iter() {
                named.change(name, |_| found.get(name).unwrap_or_default());
            }
            named
        }
    };
    running.replace_by(&level);
}

#[cfg(test)]
mod tests {
    use crate::intern::Interner;
    use crate::model::pod::StatusResources;
    use crate::model::{Container, Pod, Quantity, ResourceList};
    use crate::resources::{NonZero, Requests, ResizeRule};

    fn list(cpu_milli: i64, memory: i64) -> ResourceList {
        let cpu = Quantity::from_nanos(i128::from(cpu_milli) * 1_000_000);
        [("cpu", cpu), ("memory", Quantity::from_units(memory))].into_iter().collect()
    }

    fn cpu(milli: i64) -> ResourceList {
        let cpu = Quantity::from_nanos(i128::from(milli) * 1_000_000);
        [("cpu", cpu)].into_iter().collect()
    }

    fn status(used: Option<ResourceList>, allocated: ResourceList) -> StatusResources {
        StatusResources { requests: used, allocated }
    }

    fn resized(requests: ResourceList, used: ResourceList, allocated: ResourceList) -> Container {
        Container {
            requests,
            status: Some(Box::new(status(Some(used), allocated))),
            ..Container::default()
        }
    }

    /// CPU and memory by each rule.
    fn held(pod: &Pod) -> [(i64, i64); ResizeRule::ALL.len()] {
        ResizeRule::ALL.map(|rule| {
            let held = Requests::of(pod, rule, &mut Interner::default()).held;
            (held.cpu_milli, held.memory)
        })
    }

    #[test]
    fn a_resize_counts_with_the_larger_of_spec_and_status_unless_infeasible() {
        let container = resized(list(400, 10), list(300, 5), list(250, 30));
        let mut pod = Pod { containers: [container].into(), ..Pod::default() };
        assert_eq!(held(&pod), [(400, 30); 3]);
        let fit = Requests::of(&pod, ResizeRule::default(), &mut Interner::default()).fit;
        assert_eq!((fit.cpu_milli, fit.memory), (400, 10));
        pod.resize_infeasible = true;
        assert_eq!(held(&pod), [(300, 30); 3]);
    }

    #[test]
    fn one_container_grows_while_another_shrinks() {
        let grows = resized(cpu(500), cpu(100), cpu(100));
        let shrinks = resized(cpu(100), cpu(400), cpu(100));
        let pod = Pod { containers: [grows, shrinks].into(), overhead: cpu(1), ..Pod::default() };
        // For each container 500 and 400; the sums are 600, 200 and 500.
        assert_eq!(held(&pod), [(901, 0), (901, 0), (601, 0)]);
    }

    #[test]
    fn a_container_that_the_status_lacks_counts_for_nothing_in_an_infeasible_resize() {
        let plain = Container { requests: cpu(700), ..Container::default() };
        let allocated = Container {
            requests: cpu(900),
            status: Some(Box::new(status(None, cpu(200)))),
            ..Container::default()
        };
        let containers = [plain, allocated].into();
        let pod = Pod { containers, resize_infeasible: true, ..Pod::default() };
        assert_eq!(held(&pod), [(1_600, 0), (1_600, 0), (200, 0)]);
        let feasible = Pod { resize_infeasible: false, ..pod };
        assert_eq!(held(&feasible), [(1_600, 0); 3]);
    }

    #[test]
    fn an_ordinary_init_container_counts_by_its_status_only_in_sums() {
        let init = resized(cpu(100), cpu(800), cpu(100));
        let sidecar = Container { restarts_always: true, ..init.clone() };
        let running = resized(cpu(300), cpu(300), cpu(300));
        let pod = |init: Container| Pod {
            containers: [running.clone()].into(),
            init_containers: [init].into(),
            ..Pod::default()
        };
        assert_eq!(held(&pod(init)), [(300, 0), (300, 0), (800, 0)]);
        assert_eq!(held(&pod(sidecar)), [(1_100, 0); 3]);
    }

    #[test]
    fn the_status_of_the_whole_pod_takes_the_place_of_those_of_containers_in_sums() {
        let container = resized(cpu(100), cpu(900), cpu(900));
        let mut pod = Pod {
            containers: [container].into(),
            status_resources: Some(Box::new(status(Some(cpu(300)), list(200, 7)))),
            ..Pod::default()
        };
        assert_eq!(held(&pod), [(900, 0), (900, 0), (300, 7)]);
        pod.status_resources = Some(Box::new(status(Some(cpu(300)), ResourceList::default())));
        assert_eq!(held(&pod), [(900, 0); 3], "both lists must be there");
    }

    #[test]
    fn pod_level_requests_are_resized_from_1_36_on_and_what_only_the_status_names_counts_later() {
        let container = resized(list(100, 10), list(100, 10), list(100, 10));
        let mut pod = Pod {
            containers: [container].into(),
            pod_level_requests: Some(cpu(500)),
            status_resources: Some(Box::new(status(Some(list(600, 20)), list(400, 30)))),
            ..Pod::default()
        };
        assert_eq!(held(&pod), [(500, 10), (600, 10), (600, 30)]);
        pod.resize_infeasible = true;
        let memory: ResourceList = [("memory", Quantity::from_units(20))].into_iter().collect();
        pod.status_resources = Some(Box::new(status(Some(memory), ResourceList::default())));
        assert_eq!(held(&pod), [(500, 10), (0, 10), (100, 20)]);
    }

    #[test]
    fn each_of_the_sums_has_defaults_of_its_own() {
        let container = resized(ResourceList::default(), cpu(50), cpu(20));
        let other = resized(cpu(300), cpu(10), cpu(300));
        let pod = Pod { containers: [container, other].into(), ..Pod::default() };
        let [each, also, sums] = ResizeRule::ALL
            .map(|rule| Requests::of(&pod, rule, &mut Interner::default()).held_nonzero.cpu_milli);
        // Requested 100 by default and 300; the largest of each are 50 and 300.
        assert_eq!((each, also, sums), (350, 350, 400));
    }

    #[test]
    fn requests_change_their_rule_and_only_where_it_differs() {
        let of = |pod: &Pod, rule| Requests::of(pod, rule, &mut Interner::default());
        let plain = Pod { containers: [resized(cpu(1), cpu(1), cpu(1))].into(), ..Pod::default() };
        let grows = resized(cpu(500), cpu(100), cpu(100));
        let shrinks = resized(cpu(100), cpu(400), cpu(100));
        let differing = Pod { containers: [grows, shrinks].into(), ..Pod::default() };
        for from in ResizeRule::ALL {
            assert_eq!(
                of(&plain, from).held_nonzero,
                NonZero { cpu_milli: 1, memory: 209_715_200 }
            );
            for to in ResizeRule::ALL {
                assert_eq!(of(&plain, from).by(to), None);
                let (before, after) = (of(&differing, from), of(&differing, to));
                assert_eq!(before.by(to).unwrap_or(before), after, "{from:?} to {to:?}");
            }
        }
    }
}
