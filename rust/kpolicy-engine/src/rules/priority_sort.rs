//! `PrioritySort`: the order in which pending pods are tried.

use crate::snapshot::Pod;

/// Sorts pods in queue order: higher priority first, then who has waited longer. For pods that were
/// never tried that is the order of creation, then of names.
pub(crate) fn order(pod: &Pod) -> impl Ord + use<'_> {
    let created = pod.created_seconds.unwrap_or(0);
    (std::cmp::Reverse(pod.priority()), created, &***pod.namespace(), pod.name.as_ref())
}
