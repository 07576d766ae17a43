//! `GangScheduling`: pods of a pod group, which are to be placed together or not at all.
//!
//! Placing them together is not done here: a pod that belongs to a group is parked with a reason that
//! says so, in every profile, and is left to a scheduler that can.

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::part::Parts;
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Stage, Status};

pub(crate) const NAME: &str = "GangScheduling";
pub(crate) const IN_A_GROUP: &str =
    "pod belongs to a pod group, and kpolicy does not place the pods of a group together";

#[derive(Debug)]
pub(crate) struct GangScheduling;

#[derive(Debug, Clone)]
struct Refused {
    status: Status,
}

impl Filter for GangScheduling {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(u64::from(pod.template.pod_group.is_some()));
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        pod.template.pod_group.as_ref().map(|_| -> Box<dyn PreparedFilter> {
            Box::new(Refused { status: Status::unresolvable(IN_A_GROUP) })
        })
    }

    fn events(&self) -> Events {
        Events::of(&[Event::PodUpdate])
    }

    fn parts(&self) -> Parts {
        Parts::NONE
    }

    fn wakes(&self, _: &Pod, _: Event, _: &Occurrence, _: &Cluster) -> bool {
        // The group of a pod cannot change.
        false
    }
}

impl PreparedFilter for Refused {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE)
    }

    fn stage(&self) -> Stage<'_> {
        Stage::Reject(&self.status)
    }

    fn check(&self, _: &Cluster, _: NodeView<'_>) -> Code {
        Code::reject(1)
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        self.status.clone()
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.status.heap_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{GangScheduling, IN_A_GROUP};
    use crate::model;
    use crate::rules::pod_topology_spread::testing::{cluster, pod, row};
    use crate::rules::{Filter, Rejection, Stage};

    #[test]
    fn pods_of_a_group_are_rejected_before_any_node() {
        let mut cluster = cluster(&[("n1", "")], &[]);
        let alone = row(&mut cluster, pod("alone", "", ""));
        assert!(GangScheduling.prepare(&alone, &cluster).is_none());
        let grouped = model::Pod { pod_group: Some("gang".into()), ..pod("grouped", "", "") };
        let grouped = row(&mut cluster, grouped);
        let prepared = GangScheduling.prepare(&grouped, &cluster).unwrap();
        let Stage::Reject(status) = prepared.stage() else { panic!("it is not rejected") };
        assert_eq!(
            (status.rejection, status.message()),
            (Rejection::Unresolvable, IN_A_GROUP.into())
        );
    }
}
