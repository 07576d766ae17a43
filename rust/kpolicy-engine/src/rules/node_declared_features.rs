//! `NodeDeclaredFeatures`: features that the pod's specification needs and only some nodes declare.
//!
//! Specification: KEP-5328; the features that kube-scheduler 1.36 infers from a pod. Reads:
//! `node.status.declaredFeatures`; the pod's restart rules, host network and user namespace.

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::part::{Part, Parts};
use crate::snapshot::pod::NeededFeatures;
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Status};

pub(crate) const NAME: &str = "NodeDeclaredFeatures";

const REASON: &str = "node(s) didn't match Pod's required features";
const LACKING: Code = Code::reject(1);

const RESTART_ALL_CONTAINERS: &str = "RestartAllContainersOnContainerExits";
const USER_NAMESPACES_WITH_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NodeDeclaredFeatures;

#[derive(Debug, Clone)]
struct PreparedNodeDeclaredFeatures {
    needed: Vec<&'static str>,
}

impl Filter for NodeDeclaredFeatures {
    fn key(&self, pod: &Pod, key: &mut Key) {
        let bits = needed(pod.template.needed_features);
        key.push(u64::from(bits.contains(&RESTART_ALL_CONTAINERS)));
        key.push(u64::from(bits.contains(&USER_NAMESPACES_WITH_HOST_NETWORK)));
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let needed = needed(pod.template.needed_features);
        if needed.is_empty() {
            None
        } else {
            Some(Box::new(PreparedNodeDeclaredFeatures { needed }))
        }
    }

    fn events(&self) -> Events {
        Events::of(&[Event::NodeAdd, Event::NodeFeature, Event::PodUpdate])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeFeatures])
    }

    fn wakes(&self, pod: &Pod, event: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match (event, occurrence) {
            (Event::PodUpdate, Occurrence::Pod { old: Some(old), new: Some(new), .. }) => {
                new.uid == pod.uid
                    && needed(old.template.needed_features) != needed(new.template.needed_features)
            }
            (Event::PodUpdate, _) => false,
            _ => true,
        }
    }
}

impl PreparedFilter for PreparedNodeDeclaredFeatures {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::FEATURES)
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        let declared = &node.node.object.declared_features;
        let has = |feature: &&str| declared.iter().any(|have| have.as_ref() == *feature);
        if self.needed.iter().all(has) { Code::PASS } else { LACKING }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unresolvable(REASON)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.needed.heap_bytes())
    }
}

fn needed(features: NeededFeatures) -> Vec<&'static str> {
    let mut needed = Vec::new();
    if features.restarts_all_containers {
        needed.push(RESTART_ALL_CONTAINERS);
    }
    if features.host_network && features.host_users == Some(false) {
        needed.push(USER_NAMESPACES_WITH_HOST_NETWORK);
    }
    needed
}
