//! `NodeUnschedulable`: cordoned nodes take no pods, but for pods that tolerate the taint that
//! cordoning stands for.

use crate::event::{Event, Events, Occurrence};
use crate::model::{Effect, Taint, Toleration};
use crate::part::{Part, Parts};
use crate::release::Followed;
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::tolerations::{Operators, tolerates};
use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Status};

pub(crate) const NAME: &str = "NodeUnschedulable";
pub(crate) const UNSCHEDULABLE: &str = "node(s) were unschedulable";

#[derive(Debug)]
pub(crate) struct NodeUnschedulable {
    operators: Operators,
}

pub(crate) fn of(followed: Followed) -> NodeUnschedulable {
    NodeUnschedulable { operators: Operators::of(followed) }
}

#[derive(Debug, Clone)]
struct PreparedNodeUnschedulable;

fn tolerates_cordon(tolerations: &[Toleration], operators: Operators) -> bool {
    let cordon = Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        value: "".into(),
        effect: Effect::NoSchedule,
    };
    tolerations.iter().any(|toleration| tolerates(toleration, &cordon, operators))
}

impl Filter for NodeUnschedulable {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(u64::from(tolerates_cordon(&pod.template.tolerations, self.operators)));
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        (!tolerates_cordon(&pod.template.tolerations, self.operators))
            .then(|| -> Box<dyn PreparedFilter> { Box::new(PreparedNodeUnschedulable) })
    }

    fn events(&self) -> Events {
        Events::of(&[Event::NodeAdd, Event::NodeTaint, Event::PodToleration])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeUnschedulable])
    }

    /// A node that takes no more pods does not help any pod.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::NodeCordon])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match occurrence {
            Occurrence::Node { old, new: Some(new), .. } => {
                !new.object.unschedulable && old.as_ref().is_none_or(|old| old.object.unschedulable)
            }
            Occurrence::Pod { new: Some(new), .. } => {
                new.uid == pod.uid && tolerates_cordon(&new.template.tolerations, self.operators)
            }
            _ => false,
        }
    }
}

impl PreparedFilter for PreparedNodeUnschedulable {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::UNSCHEDULABLE)
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        if node.node.object.unschedulable { Code::reject(1) } else { Code::PASS }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unresolvable(UNSCHEDULABLE)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}
