//! Whether a pod may evict others at all.
//!
//! Specification: not with `preemptionPolicy: Never`; not while pods that were evicted for it are
//! still terminating on the node it is nominated to, unless that node cannot do any more whoever
//! leaves.

use crate::rules::Rejection;
use crate::snapshot::NodeView;

use super::{Unplaced, potential, victims};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotEligible {
    Never,
    VictimsTerminating,
}

impl NotEligible {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Never => "not eligible due to preemptionPolicy=Never.",
            Self::VictimsTerminating => {
                "not eligible due to a terminating pod on the nominated node."
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
    is_awaited(unplaced, node).then_some(NotEligible::VictimsTerminating)
}

/// Whether a pod that a scheduler evicted is still leaving, or about to: the watch may lag.
fn is_awaited(unplaced: Unplaced<'_>, node: NodeView<'_>) -> bool {
    let pods = node.load.pods.iter().filter(|other| victims::may_go(other, unplaced.question.pod));
    pods.into_iter().any(|other| {
        (other.is_terminating && other.preempted_by_scheduler)
            || unplaced.cluster.evictions().contains(&other.uid)
    })
}
