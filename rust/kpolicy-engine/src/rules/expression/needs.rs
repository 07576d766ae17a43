//! What an expression reads, by the facts it names.
//!
//! Owns the list of facts that the engine answers, and for each what its answer rests on: parts of the
//! pod (for cache keys), parts of a node, pods on it, or what is elsewhere. Keys, refreshing and wakes
//! all follow from this list.

use kpolicy_cel::Expression;

use crate::event::Events;
use crate::part::{Part, Parts};
use crate::rules::Key;
use crate::snapshot::{NodeParts, Pod};

use super::api_path::is_api_path;

/// The parts of the world that expressions read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs(Parts);

const fn of(parts: &[Part]) -> Parts {
    Parts::of(parts)
}

/// Of other nodes in the node's domain, or of all.
const OF_OTHER_NODES: Parts = of(&[Part::NodeLabels, Part::OtherNodes]);
const OF_OTHER_PODS: Parts = of(&[Part::NodeLabels, Part::OtherNodes, Part::OtherPods]);
const OF_NAMESPACE: Parts = of(&[Part::PodIdentity, Part::Namespace]);
const OF_LOAD: Parts = of(&[Part::Load]);

/// What one fact rests on; `None` if the engine does not know it.
fn of_fact(fact: &str) -> Option<Parts> {
    let (root, path) = fact.split_once('.')?;
    let path = path.strip_suffix("[]").unwrap_or(path);
    match root {
        "pod" => of_pod_fact(path).map(|part| of(&[part])),
        "node" => of_node_fact(path),
        "cluster" => match path {
            "nodeCount" | "domains" | "allocatable" => Some(OF_OTHER_NODES),
            "podCount" | "free" | "pods.count" | "pods.sum" | "pods.size" => Some(OF_OTHER_PODS),
            _ => None,
        },
        "namespaceObject" => match path {
            "name" | "labels" | "annotations" => Some(OF_NAMESPACE),
            _ => is_api_path(path).then_some(OF_NAMESPACE),
        },
        _ => None,
    }
}

/// A victim is a pod on the node. Of pods on nodes nothing is kept by API path.
fn of_victim(fact: &str) -> Option<Parts> {
    let path = fact.strip_prefix("victim.")?;
    let path = path.strip_suffix("[]").unwrap_or(path);
    let is_known = !is_api_path(path) && of_pod_fact(path).is_some();
    is_known.then_some(OF_LOAD)
}

fn of_pod_fact(path: &str) -> Option<Part> {
    Some(match path {
        "name" | "uid" | "volumes" | "volumes.claims" | "metadata.name" | "metadata.uid" => {
            Part::PodName
        }
        "namespace" | "labels" | "metadata.namespace" | "metadata.labels" => Part::PodIdentity,
        "annotations" | "metadata.annotations" => Part::PodAnnotations,
        "priority" => Part::PodPriority,
        "request" => Part::PodRequests,
        "tolerations" | "tolerates" => Part::PodTolerations,
        "nodeSelector" => Part::PodNodeAffinity,
        "priorityClassName" | "schedulerName" | "serviceAccount" | "qosClass"
        | "preemptionPolicy" | "hostNetwork" | "controller" | "controller.kind"
        | "controller.name" | "containers" | "initContainers" | "images" | "limit" => {
            Part::PodTemplate
        }
        path if is_api_path(path) => Part::PodApiValues,
        _ => return None,
    })
}

fn of_node_fact(path: &str) -> Option<Parts> {
    Some(match path {
        "name" | "metadata.name" => of(&[Part::NodeExistence]),
        "labels" | "domain.name" | "metadata.labels" => of(&[Part::NodeLabels]),
        "annotations" | "metadata.annotations" => of(&[Part::NodeAnnotations]),
        "conditions" | "ready" => of(&[Part::NodeConditions]),
        "taints" => of(&[Part::NodeTaints]),
        "unschedulable" => of(&[Part::NodeUnschedulable]),
        "allocatable" | "podLimit" => of(&[Part::NodeAllocatable]),
        "capacity" => of(&[Part::NodeCapacity]),
        "hasImage" => of(&[Part::NodeImages]),
        "requested" | "free" | "utilization" => of(&[Part::NodeAllocatable, Part::Load]),
        "fits" => of(&[Part::NodeAllocatable, Part::Load, Part::PodRequests]),
        "podCount" | "pods.count" | "pods.sum" | "pods.size" => OF_LOAD,
        "pods" => of(&[Part::Load, Part::LoadInDetail]),
        "domain.nodeCount" | "domain.allocatable" => OF_OTHER_NODES,
        "domain.free" | "domain.pods.count" | "domain.pods.sum" | "domain.pods.size" => {
            OF_OTHER_PODS
        }
        path if is_api_path(path) => of(&[Part::NodeApiValues]),
        _ => return None,
    })
}

/// Parts of the pending pod.
const OF_POD: Parts = of(&[
    Part::PodIdentity,
    Part::PodRequests,
    Part::PodTolerations,
    Part::PodPriority,
    Part::PodNodeAffinity,
    Part::PodTemplate,
    Part::PodAnnotations,
    Part::PodName,
    Part::PodApiValues,
]);

impl Needs {
    /// Of all facts that an expression names, or the first one that the engine does not know.
    pub fn of(expression: &Expression) -> Result<Self, String> {
        Self::of_all(expression, of_fact)
    }

    /// The same where there is a victim besides.
    pub fn with_victim(expression: &Expression) -> Result<Self, String> {
        Self::of_all(expression, |fact| of_victim(fact).or_else(|| of_fact(fact)))
    }

    fn of_all(expression: &Expression, of: impl Fn(&str) -> Option<Parts>) -> Result<Self, String> {
        let constant = expression.reads().iter().map(|read| &*read.fact);
        let dynamic = expression.dynamic_facts();
        let parts = constant.chain(dynamic).try_fold(Parts::NONE, |sum, fact| {
            of(fact).map(|parts| sum.with(parts)).ok_or_else(|| fact.to_owned())
        })?;
        Ok(Self(parts))
    }

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0.with(other.0))
    }

    /// Of the node itself.
    pub fn node(self) -> NodeParts {
        self.0.of_node()
    }

    /// Pods on the node, or what they hold.
    pub fn load(self) -> bool {
        self.0.meets(of(&[Part::Load, Part::LoadInDetail]))
    }

    pub fn other_pods(self) -> bool {
        self.0.has(Part::OtherPods)
    }

    pub fn other_nodes(self) -> bool {
        self.0.has(Part::OtherNodes)
    }

    pub fn namespace(self) -> bool {
        self.0.has(Part::Namespace)
    }

    /// Whether an answer may change while the pod stays as it is and no node is looked at.
    pub fn is_of_cluster(self) -> bool {
        self.other_pods() || self.other_nodes() || self.namespace()
    }

    pub fn key(self, pod: &Pod, key: &mut Key) {
        let template = &pod.template;
        let parts = [
            (Part::PodIdentity, pod.identity.id()),
            (Part::PodRequests, template.requests.id()),
            (Part::PodTolerations, template.tolerations.id()),
            (Part::PodPriority, u64::from(template.priority.cast_unsigned())),
            (Part::PodNodeAffinity, template.node_affinity.id()),
            (Part::PodTemplate, template.id()),
            (Part::PodAnnotations, pod.annotations.id()),
            (Part::PodApiValues, pod.api_values.id()),
        ];
        parts.into_iter().filter(|(part, _)| self.0.has(*part)).for_each(|(_, id)| key.push(id));
        if self.0.has(Part::PodName) {
            key.push_text(&pod.uid);
            key.push_text(&pod.name);
            key.push(template.volumes.id());
        }
    }

    /// Events that may change an answer; new nodes are always new.
    pub fn events(self) -> Events {
        self.0.with(of(&[Part::NodeExistence])).events()
    }

    /// Whether a change of a node in these parts may change the node's answer.
    pub fn is_changed_by(self, parts: NodeParts) -> bool {
        parts.meets(self.node().with(NodeParts::EXISTENCE))
    }

    /// Whether the pending pod's own parts are read.
    pub fn reads_pod(self) -> bool {
        self.0.meets(OF_POD)
    }
}
