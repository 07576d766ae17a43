//! How much of a resource a pod may use: the sum of its containers' limits.

use crate::model::Container;
use crate::resources::names;
use crate::snapshot::Pod;

/// The larger of what containers may use together and what the largest init container may.
pub(crate) fn limit(pod: &Pod, name: &str) -> i64 {
    let of = |container: &Container| {
        let limit = container.limits.get(name).copied().unwrap_or_default();
        if name == names::CPU { limit.millis_rounded_up() } else { limit.units_rounded_up() }
    };
    let containers = &pod.template.containers;
    let (sidecars, starting): (Vec<_>, Vec<_>) =
        containers.init.iter().partition(|container| container.restarts_always);
    let running = containers.regular.iter().chain(sidecars).map(of);
    let together = running.fold(0_i64, i64::saturating_add);
    starting.into_iter().map(of).fold(together, i64::max)
}
