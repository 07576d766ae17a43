//! What a pod requests, for each use that kube-scheduler makes of it.
//!
//! Specification: containers are summed; sidecars count in the sum and under later init containers;
//! an ordinary init container needs the larger of itself and the rest; pod-level requests replace,
//! then overhead is added. A resize in progress counts with the larger of spec and status.

use std::sync::Arc;

use crate::intern::Interner;
use crate::model::{Container, Pod, Quantity, ResourceList};

use super::Amounts;
use super::names;

/// Assumed for scoring where a container does not name the resource.
const CPU_MILLI_DEFAULT: i128 = 100;
const MEMORY_BYTES_DEFAULT: i64 = 200 * 1024 * 1024;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// CPU and memory with a default for containers that name none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct NonZero {
    pub(crate) cpu_milli: i64,
    pub(crate) memory: i64,
}

/// One pod's requests by use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Requests {
    /// Whether the pod fits: the spec with pod-level requests.
    pub(crate) fit: Amounts,
    /// What it holds once on a node, and balance: also what a resize has reached.
    pub(crate) held: Amounts,
    /// As `held`, with defaults.
    pub(crate) held_nonzero: NonZero,
    /// Scoring by resources: the spec without pod-level requests, with defaults for CPU and memory.
    pub(crate) scored: Amounts,
}

#[derive(Clone, Copy, Default)]
struct Reading {
    status: bool,
    pod_level: bool,
    default_cpu: bool,
    default_memory: bool,
}

/// Exact sums by name, in order of name.
#[derive(Clone, Default)]
struct Sums<'a>(Vec<(&'a str, Quantity)>);

impl<'a> Sums<'a> {
    fn change(&mut self, name: &'a str, change: impl FnOnce(Quantity) -> Quantity) {
        match self.0.binary_search_by(|(have, _)| (*have).cmp(name)) {
            Ok(position) => {
                if let Some((_, quantity)) = self.0.get_mut(position) {
                    *quantity = change(*quantity);
                }
            }
            Err(position) => self.0.insert(position, (name, change(Quantity::ZERO))),
        }
    }

    fn get(&self, name: &str) -> Option<Quantity> {
        self.0.iter().find(|(have, _)| *have == name).map(|(_, quantity)| *quantity)
    }

    fn add(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            self.change(name, |sum| sum.plus(*quantity));
        }
    }

    fn raise(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            self.change(name, |have| have.max(*quantity));
        }
    }

    fn raise_to(&mut self, list: &'a ResourceList) {
        for (name, quantity) in list.iter() {
            self.change(name, |have| have.max(*quantity));
        }
    }

    fn of(list: &'a ResourceList) -> Self {
        Self(list.iter().map(|(name, quantity)| (name, *quantity)).collect())
    }
}

impl Requests {
    pub(crate) fn of(pod: &Pod, names_held: &mut Interner<Arc<str>>) -> Self {
        let mut rounded = |sums: &Sums<'_>| Amounts::rounded(sums.0.iter().copied(), names_held);
        let fit = rounded(&sum(pod, Reading { pod_level: true, ..Reading::default() }));
        let holding = Reading { status: true, pod_level: true, ..Reading::default() };
        let held_sums = sum(pod, holding);
        let held = rounded(&held_sums);
        let only_absent = pod.pod_level_requests.as_ref().is_some_and(names_a_supported_one);
        let nonzero = rounded(&sum(
            pod,
            Reading {
                default_cpu: !only_absent || held_sums.get(names::CPU).is_none(),
                default_memory: !only_absent || held_sums.get(names::MEMORY).is_none(),
                ..holding
            },
        ));
        let scored = rounded(&sum(
            pod,
            Reading { default_cpu: true, default_memory: true, ..Reading::default() },
        ));
        let held_nonzero = NonZero { cpu_milli: nonzero.cpu_milli, memory: nonzero.memory };
        Self { fit, held, held_nonzero, scored }
    }
}

/// What the pod may use at most: of resources that a container or the pod as a whole limits. No rule
/// reads it.
pub(crate) fn limits(pod: &Pod, names_held: &mut Interner<Arc<str>>) -> Amounts {
    let mut limited = over_containers(pod, |container, _| Sums::of(&container.limits));
    for (name, quantity) in pod.pod_level_limits.iter() {
        if is_supported_at_pod_level(name) {
            limited.change(name, |_| *quantity);
        }
    }
    for (name, quantity) in pod.overhead.iter() {
        if limited.get(name).is_some_and(|limit| limit != Quantity::ZERO) {
            limited.change(name, |limit| limit.plus(*quantity));
        }
    }
    Amounts::rounded(limited.0.iter().copied(), names_held)
}

fn sum(pod: &Pod, reading: Reading) -> Sums<'_> {
    let mut running = over_containers(pod, |container, resizable| {
        of_container(pod, container, resizable, reading)
    });
    if reading.pod_level {
        replace_by_pod_level(&mut running, pod, reading);
    }
    running.add(&Sums::of(&pod.overhead));
    running
}

/// The most that containers have together at any time; `asked` is also told whether a container can
/// be resized.
fn over_containers<'a>(pod: &'a Pod, asked: impl Fn(&'a Container, bool) -> Sums<'a>) -> Sums<'a> {
    let mut running = Sums::default();
    for container in &pod.containers {
        running.add(&asked(container, true));
    }
    let mut sidecars = Sums::default();
    let mut starting = Sums::default();
    for container in &pod.init_containers {
        let own = asked(container, container.restarts_always);
        if container.restarts_always {
            running.add(&own);
            sidecars.add(&own);
            starting.raise(&sidecars);
        } else {
            let mut together = own;
            together.add(&sidecars);
            starting.raise(&together);
        }
    }
    running.raise(&starting);
    running
}

fn of_container<'a>(
    pod: &Pod,
    container: &'a Container,
    resizable: bool,
    reading: Reading,
) -> Sums<'a> {
    let status = container.status.as_deref().filter(|_| reading.status && resizable);
    let mut asked = match status.and_then(|status| Some((status, status.requests.as_ref()?))) {
        None => Sums::of(&container.requests),
        Some((status, reported)) => {
            let mut larger = Sums::of(reported);
            larger.raise_to(&status.allocated);
            if !pod.resize_infeasible {
                larger.raise_to(&container.requests);
            }
            larger
        }
    };
    if reading.default_cpu && asked.get(names::CPU).is_none() {
        let default = Quantity::from_nanos(CPU_MILLI_DEFAULT * NANOS_PER_MILLI);
        asked.change(names::CPU, |_| default);
    }
    if reading.default_memory && asked.get(names::MEMORY).is_none() {
        asked.change(names::MEMORY, |_| Quantity::from_units(MEMORY_BYTES_DEFAULT));
    }
    asked
}

fn replace_by_pod_level<'a>(running: &mut Sums<'a>, pod: &'a Pod, reading: Reading) {
    let Some(requested) = pod.pod_level_requests.as_ref() else { return };
    let mut level = Sums::of(requested);
    let status = pod.status_resources.as_deref().filter(|_| reading.status);
    if let Some((status, reported)) =
        status.and_then(|status| Some((status, status.requests.as_ref()?)))
    {
        if pod.resize_infeasible {
            level = Sums::of(reported);
        } else {
            level.raise_to(reported);
        }
        level.raise_to(&status.allocated);
    }
    for (name, quantity) in &level.0 {
        if is_supported_at_pod_level(name) {
            running.change(name, |_| *quantity);
        }
    }
}

fn is_supported_at_pod_level(name: &str) -> bool {
    name == names::CPU || name == names::MEMORY || name.starts_with(names::HUGE_PAGES_PREFIX)
}

fn names_a_supported_one(list: &ResourceList) -> bool {
    list.iter().any(|(name, _)| is_supported_at_pod_level(name))
}

#[cfg(test)]
mod tests {
    use super::{NonZero, Requests, limits};
    use crate::intern::Interner;
    use crate::model::pod::StatusResources;
    use crate::model::{Container, Pod, Quantity, ResourceList};

    fn list(cpu_milli: i64, memory: i64) -> ResourceList {
        [
            ("cpu", Quantity::from_nanos(i128::from(cpu_milli) * 1_000_000)),
            ("memory", Quantity::from_units(memory)),
        ]
        .into_iter()
        .collect()
    }

    fn container(requests: ResourceList) -> Container {
        Container { requests, ..Container::default() }
    }

    fn requests(pod: &Pod) -> Requests {
        Requests::of(pod, &mut Interner::default())
    }

    #[test]
    fn quantities_are_rounded_up_once_per_pod() {
        let half: ResourceList =
            [("memory", Quantity::from_nanos(500_000_000))].into_iter().collect();
        let pod = Pod {
            containers: [container(half.clone()), container(half.clone()), container(half)].into(),
            ..Pod::default()
        };
        assert_eq!(requests(&pod).fit.memory, 2);
    }

    #[test]
    fn sidecars_count_beside_containers_and_under_later_init_containers() {
        let sidecar = Container { restarts_always: true, ..container(list(100, 10)) };
        let pod = Pod {
            containers: [container(list(200, 20))].into(),
            init_containers: [container(list(250, 5)), sidecar, container(list(250, 5))].into(),
            overhead: list(1, 1),
            ..Pod::default()
        };
        // cpu: max(200 + 100, max(250, 250 + 100)) + 1; memory: max(20 + 10, 10 + 5) + 1.
        let fit = requests(&pod).fit;
        assert_eq!((fit.cpu_milli, fit.memory), (351, 31));
    }

    #[test]
    fn limits_are_summed_as_requests_and_overhead_raises_only_what_is_limited() {
        let limited = |cpu_milli, memory| Container {
            limits: list(cpu_milli, memory),
            ..Container::default()
        };
        let unlimited_memory = Container {
            limits: [("cpu", Quantity::from_units(1))].into_iter().collect(),
            ..Container::default()
        };
        let mut names = Interner::default();
        let pod = Pod {
            containers: [limited(200, 0)].into(),
            init_containers: [
                Container { restarts_always: true, ..limited(100, 0) },
                unlimited_memory,
            ]
            .into(),
            overhead: list(1, 1),
            ..Pod::default()
        };
        // cpu: max(200 + 100, 1000 + 100) + 1; memory is not limited, so that overhead adds nothing.
        let sum = limits(&pod, &mut names);
        assert_eq!((sum.cpu_milli, sum.memory), (1_101, 0));
        let whole = Pod { pod_level_limits: list(500, 50), ..pod };
        let sum = limits(&whole, &mut names);
        assert_eq!((sum.cpu_milli, sum.memory), (501, 51));
    }

    #[test]
    fn defaults_count_per_container_but_an_explicit_zero_is_respected() {
        let zero_cpu: ResourceList = [("cpu", Quantity::ZERO)].into_iter().collect();
        let pod = Pod {
            containers: [container(ResourceList::default()), container(zero_cpu)].into(),
            ..Pod::default()
        };
        let asked = requests(&pod);
        let memory = 2 * 209_715_200;
        assert_eq!((asked.scored.cpu_milli, asked.scored.memory), (100, memory));
        assert_eq!(asked.held_nonzero, NonZero { cpu_milli: 100, memory });
        assert_eq!((asked.fit.cpu_milli, asked.held.memory), (0, 0));
    }

    #[test]
    fn pod_level_requests_replace_before_overhead_except_for_scoring() {
        let pod = Pod {
            containers: [container(list(200, 20))].into(),
            overhead: list(10, 1),
            pod_level_requests: Some([("cpu", Quantity::from_units(1))].into_iter().collect()),
            ..Pod::default()
        };
        let asked = requests(&pod);
        assert_eq!((asked.fit.cpu_milli, asked.fit.memory), (1010, 21));
        assert_eq!(asked.held_nonzero.cpu_milli, 1010);
        assert_eq!(asked.scored.cpu_milli, 210);
    }

    #[test]
    fn a_resize_counts_with_the_larger_of_spec_and_status_unless_infeasible() {
        let status = StatusResources { requests: Some(list(300, 5)), allocated: list(250, 30) };
        let mut resized = container(list(400, 10));
        resized.status = Some(Box::new(status));
        let mut pod = Pod { containers: [resized].into(), ..Pod::default() };
        let asked = requests(&pod);
        assert_eq!((asked.held.cpu_milli, asked.held.memory), (400, 30));
        assert_eq!((asked.fit.cpu_milli, asked.fit.memory), (400, 10));
        pod.resize_infeasible = true;
        let asked = requests(&pod);
        assert_eq!((asked.held.cpu_milli, asked.held.memory), (300, 30));
    }
}
