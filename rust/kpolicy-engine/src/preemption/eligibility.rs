//! Whether a pod may evict others at all.
//!
//! Specification: not with `preemptionPolicy: Never`; not while pods that were evicted for it are
//! still terminating on the node it is nominated to, unless that node cannot do any more whoever
//! leaves. Where preemption frees devices, nor while claims still have some there for pods that are
//! gone: otherwise more pods would be evicted until the controller of claims has given them up.

use crate::rules::{Rejection, dynamic_resources};
use crate::snapshot::NodeView;

use super::{Unplaced, potential, victims};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotEligible {
    Never,
    VictimsTerminating,
    DevicesHeld,
}

impl NotEligible {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Never => "not eligible due to preemptionPolicy=Never.",
            Self::VictimsTerminating => {
                "not eligible due to a terminating pod on the nominated node."
            }
            Self::DevicesHeld => {
                "not eligible due to claims on the nominated node that still have devices for pods that are gone."
            }
        }
    }
}

pub(super) fn refusal(unplaced: Unplaced<'_>) -> Option<NotEligible> {
    let pod = unplaced.question.pod;
    if pod.template.never_preempts {
        return Some(NotEligible::Never);
    }
    let (cluster, nodes) = (unplaced.cluster, unplaced.cluster.nodes());
    let node = nodes.view(nodes.find(cluster.nominations().node_of(&pod.uid)?)?)?;
    if potential::rejection(unplaced, node.slot) == Rejection::Unresolvable {
        return None;
    }
    if is_awaited(unplaced, node) {
        return Some(NotEligible::VictimsTerminating);
    }
    let frees_devices =
        unplaced.profile.devices.as_ref().is_some_and(|rule| rule.policy.frees_devices);
    let awaits_devices = frees_devices && dynamic_resources::is_concerned(pod);
    (awaits_devices && dynamic_resources::are_devices_awaited(cluster, node))
        .then_some(NotEligible::DevicesHeld)
}

/// Whether a pod that a scheduler evicted is still leaving, or about to: the watch may lag.
fn is_awaited(unplaced: Unplaced<'_>, node: NodeView<'_>) -> bool {
    let pods = node.load.pods.iter().filter(|other| victims::may_go(other, unplaced.question.pod));
    pods.into_iter().any(|other| {
        (other.is_terminating && other.preempted_by_scheduler)
            || unplaced.cluster.evictions().contains(&other.uid)
    })
}
