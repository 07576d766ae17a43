//! Whether a pod may evict others at all.
//!
//! Clauses: not with `preemptionPolicy: Never`; not while pods that were evicted for it are still
//! terminating on the node it is nominated to, unless that node cannot do any more whoever leaves.

use crate::rules::Rejection;
use crate::snapshot::NodeView;

use super::{Asked, potential, victims};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotEligible {
    Never,
    VictimsTerminating,
}

impl NotEligible {
    pub fn message(self) -> &'static str {
        match self {
            Self::Never => "not eligible due to preemptionPolicy=Never.",
            Self::VictimsTerminating => {
                "not eligible due to a terminating pod on the nominated node."
            }
        }
    }
}

pub fn refusal(asked: Asked<'_>) -> Option<NotEligible> {
    let pod = asked.question.pod;
    if pod.template.never_preempts {
        return Some(NotEligible::Never);
    }
    let (cluster, nodes) = (asked.cluster, asked.cluster.nodes());
    let node = nodes.view(nodes.find(cluster.nominations().node_of(&pod.uid)?)?)?;
    if potential::rejection(asked, node.slot) == Rejection::Unresolvable {
        return None;
    }
    is_awaited(asked, node).then_some(NotEligible::VictimsTerminating)
}

/// Whether a pod that a scheduler evicted is still leaving, or about to: the watch may lag.
fn is_awaited(asked: Asked<'_>, node: NodeView<'_>) -> bool {
    let pods = node.load.pods.iter().filter(|other| victims::may_go(other, asked.question.pod));
    pods.into_iter().any(|other| {
        (other.is_terminating && other.preempted_by_scheduler)
            || asked.cluster.evictions().contains(&other.uid)
    })
}
