//! What a pod requests, for each use that kube-scheduler makes of it.
//!
//! Specification: containers are summed; sidecars count in the sum and under later init containers;
//! an ordinary init container needs the larger of itself and the rest; pod-level requests replace,
//! then overhead is added. Where a resize is in progress, `held` says what counts.

use std::sync::Arc;

use crate::intern::Interner;
use crate::model::{Container, Pod, Quantity, ResourceList};

use super::Amounts;
use super::held::{ResizeRule, held_sums};
use super::names;
use super::sums::{Sums, over_containers};

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

/// `held` and `held_nonzero` by each rule, in the order of [`ResizeRule::ALL`].
type ByRule = [(Amounts, NonZero); ResizeRule::ALL.len()];

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
    /// What it holds by other rules; `None`: the same by all.
    pub(super) by_rule: Option<Box<ByRule>>,
}

/// For which resources a container that names none counts with a default.
#[derive(Clone, Copy, Default)]
pub(super) struct Defaults {
    pub(super) cpu: bool,
    pub(super) memory: bool,
}

impl Defaults {
    const ALL: Self = Self { cpu: true, memory: true };

    /// A list of a container, with what it does not name.
    pub(super) fn fill(self, mut asked: Sums<'_>) -> Sums<'_> {
        if self.cpu && asked.get(names::CPU).is_none() {
            let default = Quantity::from_nanos(CPU_MILLI_DEFAULT * NANOS_PER_MILLI);
            asked.change(names::CPU, |_| default);
        }
        if self.memory && asked.get(names::MEMORY).is_none() {
            asked.change(names::MEMORY, |_| Quantity::from_units(MEMORY_BYTES_DEFAULT));
        }
        asked
    }
}

impl Requests {
    pub(crate) fn of(pod: &Pod, rule: ResizeRule, names_held: &mut Interner<Arc<str>>) -> Self {
        let fit = specified(pod, Defaults::default(), true).rounded(names_held);
        let scored = specified(pod, Defaults::ALL, false).rounded(names_held);
        if is_settled(pod) {
            let (held, held_nonzero) =
                held(pod, |defaults| specified(pod, defaults, true), names_held);
            return Self { fit, held, held_nonzero, scored, by_rule: None };
        }
        let by_rule = ResizeRule::ALL
            .map(|rule| held(pod, |defaults| held_sums(pod, rule, defaults), names_held));
        let (held, held_nonzero) = by_rule[rule as usize].clone();
        let is_same = by_rule.iter().all(|other| *other == by_rule[0]);
        let by_rule = (!is_same).then(|| Box::new(by_rule));
        Self { fit, held, held_nonzero, scored, by_rule }
    }

    /// The same by another rule; `None`: nothing differs.
    pub(crate) fn by(&self, rule: ResizeRule) -> Option<Self> {
        let (held, held_nonzero) = self.by_rule.as_ref()?[rule as usize].clone();
        let is_same = held == self.held && held_nonzero == self.held_nonzero;
        (!is_same).then(|| Self { held, held_nonzero, ..self.clone() })
    }
}

/// What the pod holds, and the same with defaults. `sums` gives the exact sums.
fn held<'a>(
    pod: &Pod,
    sums: impl Fn(Defaults) -> Sums<'a>,
    names_held: &mut Interner<Arc<str>>,
) -> (Amounts, NonZero) {
    let plain = sums(Defaults::default());
    let only_absent = has_pod_level_requests(pod);
    let nonzero = sums(Defaults {
        cpu: !only_absent || plain.get(names::CPU).is_none(),
        memory: !only_absent || plain.get(names::MEMORY).is_none(),
    })
    .rounded(names_held);
    let nonzero = NonZero { cpu_milli: nonzero.cpu_milli, memory: nonzero.memory };
    (plain.rounded(names_held), nonzero)
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
    limited.rounded(names_held)
}

/// What the spec says, with requests of the pod as a whole or without.
fn specified(pod: &Pod, defaults: Defaults, with_pod_level: bool) -> Sums<'_> {
    let mut running =
        over_containers(pod, |container, _| defaults.fill(Sums::of(&container.requests)));
    if with_pod_level && let Some(requested) = &pod.pod_level_requests {
        running.replace_by(&Sums::of(requested));
    }
    running.add(&Sums::of(&pod.overhead));
    running
}

/// Whether the status says the same of all containers as the spec, so that no resize is in progress.
fn is_settled(pod: &Pod) -> bool {
    let is_as_specified = |container: &Container| {
        container.status.as_deref().is_none_or(|status| {
            let mut lists = status.requests.iter().chain([&status.allocated]);
            lists.all(|list| list.is_empty() || *list == container.requests)
        })
    };
    !pod.resize_infeasible
        && pod.status_resources.is_none()
        && pod.init_containers.iter().chain(&pod.containers).all(is_as_specified)
}

pub(super) fn is_supported_at_pod_level(name: &str) -> bool {
    name == names::CPU || name == names::MEMORY || name.starts_with(names::HUGE_PAGES_PREFIX)
}

pub(super) fn has_pod_level_requests(pod: &Pod) -> bool {
    let names_one =
        |list: &ResourceList| list.iter().any(|(name, _)| is_supported_at_pod_level(name));
    pod.pod_level_requests.as_ref().is_some_and(names_one)
}

#[cfg(test)]
mod tests {
    use super::{NonZero, Requests, ResizeRule, limits};
    use crate::intern::Interner;
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
        Requests::of(pod, ResizeRule::default(), &mut Interner::default())
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
}
