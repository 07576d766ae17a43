//! What an expression reads, by the facts it names.
//!
//! Owns the list of facts that the engine answers, and for each what its answer rests on: parts of the
//! pod (for cache keys), parts of a node, pods on it, or what is elsewhere. Keys, refreshing and wakes
//! all follow from this list.

use kpolicy_cel::Expression;

use crate::event::{Event, Events};
use crate::model::Kind;
use crate::rules::Key;
use crate::snapshot::{NodeParts, Pod};

use super::api_path::is_api_path;

/// A set of parts of a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PodParts(u16);

impl PodParts {
    const NONE: Self = Self(0);
    const IDENTITY: Self = Self(1);
    const REQUESTS: Self = Self(1 << 1);
    const TOLERATIONS: Self = Self(1 << 2);
    const PRIORITY: Self = Self(1 << 3);
    const NODE_AFFINITY: Self = Self(1 << 4);
    /// Anything else of the template.
    const TEMPLATE: Self = Self(1 << 5);
    const ANNOTATIONS: Self = Self(1 << 6);
    /// Name or uid: no two pods share it.
    const ITSELF: Self = Self(1 << 7);
    /// What is read by API path.
    const API_VALUES: Self = Self(1 << 8);

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    pod: PodParts,
    pub node: NodeParts,
    /// Pods on the node, or what they hold.
    pub load: bool,
    /// Pods on other nodes.
    pub other_pods: bool,
    /// Other nodes: which there are, their labels and resources.
    pub other_nodes: bool,
    /// The pod's namespace as an object.
    pub namespace: bool,
}

const NOTHING: Needs = Needs {
    pod: PodParts::NONE,
    node: NodeParts::NONE,
    load: false,
    other_pods: false,
    other_nodes: false,
    namespace: false,
};

const fn of_pod(pod: PodParts) -> Needs {
    Needs { pod, ..NOTHING }
}

const fn of_node(node: NodeParts) -> Needs {
    Needs { node, ..NOTHING }
}

const fn of_load(node: NodeParts) -> Needs {
    Needs { node, load: true, ..NOTHING }
}

const fn elsewhere(other_pods: bool) -> Needs {
    Needs { node: NodeParts::LABELS, other_pods, other_nodes: true, ..NOTHING }
}

const OF_NAMESPACE: Needs = Needs { namespace: true, ..of_pod(PodParts::IDENTITY) };

/// What one fact rests on; `None` if the engine does not know it.
fn of_fact(fact: &str) -> Option<Needs> {
    let (root, path) = fact.split_once('.')?;
    let path = path.strip_suffix("[]").unwrap_or(path);
    match root {
        "pod" => of_pod_fact(path).map(of_pod),
        "node" => of_node_fact(path),
        "cluster" => match path {
            "nodeCount" | "domains" | "allocatable" => Some(elsewhere(false)),
            "podCount" | "free" | "pods.count" | "pods.sum" | "pods.size" => Some(elsewhere(true)),
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
fn of_victim(fact: &str) -> Option<Needs> {
    let path = fact.strip_prefix("victim.")?;
    let path = path.strip_suffix("[]").unwrap_or(path);
    let is_known = !is_api_path(path) && of_pod_fact(path).is_some();
    is_known.then(|| of_load(NodeParts::NONE))
}

fn of_pod_fact(path: &str) -> Option<PodParts> {
    Some(match path {
        "name" | "uid" | "volumes" | "volumes.claims" | "metadata.name" | "metadata.uid" => {
            PodParts::ITSELF
        }
        "namespace" | "labels" | "metadata.namespace" | "metadata.labels" => PodParts::IDENTITY,
        "annotations" | "metadata.annotations" => PodParts::ANNOTATIONS,
        "priority" => PodParts::PRIORITY,
        "request" => PodParts::REQUESTS,
        "tolerations" | "tolerates" => PodParts::TOLERATIONS,
        "nodeSelector" => PodParts::NODE_AFFINITY,
        "priorityClassName" | "schedulerName" | "serviceAccount" | "qosClass"
        | "preemptionPolicy" | "hostNetwork" | "controller" | "controller.kind"
        | "controller.name" | "containers" | "initContainers" | "images" | "limit" => {
            PodParts::TEMPLATE
        }
        path if is_api_path(path) => PodParts::API_VALUES,
        _ => return None,
    })
}

fn of_node_fact(path: &str) -> Option<Needs> {
    let resources = NodeParts::ALLOCATABLE;
    Some(match path {
        "name" | "metadata.name" => of_node(NodeParts::EXISTENCE),
        "labels" | "domain.name" | "metadata.labels" => of_node(NodeParts::LABELS),
        "annotations" | "metadata.annotations" => of_node(NodeParts::ANNOTATIONS),
        "conditions" | "ready" => of_node(NodeParts::CONDITIONS),
        "taints" => of_node(NodeParts::TAINTS),
        "unschedulable" => of_node(NodeParts::UNSCHEDULABLE),
        "allocatable" | "podLimit" => of_node(resources),
        "capacity" => of_node(NodeParts::CAPACITY),
        "hasImage" => of_node(NodeParts::IMAGES),
        "requested" | "free" | "utilization" => of_load(resources),
        "fits" => Needs { pod: PodParts::REQUESTS, ..of_load(resources) },
        "podCount" | "pods" | "pods.count" | "pods.sum" | "pods.size" => of_load(NodeParts::NONE),
        "domain.nodeCount" | "domain.allocatable" => elsewhere(false),
        "domain.free" | "domain.pods.count" | "domain.pods.sum" | "domain.pods.size" => {
            elsewhere(true)
        }
        path if is_api_path(path) => of_node(NodeParts::API_VALUES),
        _ => return None,
    })
}

impl Needs {
    /// Of all facts that an expression names, or the first one that the engine does not know.
    pub fn of(expression: &Expression) -> Result<Self, String> {
        Self::of_all(expression, of_fact)
    }

    /// The same where there is a victim besides.
    pub fn with_victim(expression: &Expression) -> Result<Self, String> {
        Self::of_all(expression, |fact| of_victim(fact).or_else(|| of_fact(fact)))
    }

    fn of_all(expression: &Expression, of: impl Fn(&str) -> Option<Self>) -> Result<Self, String> {
        let constant = expression.reads().iter().map(|read| &*read.fact);
        let dynamic = expression.dynamic_facts();
        constant.chain(dynamic).try_fold(NOTHING, |sum, fact| {
            of(fact).map(|needs| sum.with(needs)).ok_or_else(|| fact.to_owned())
        })
    }

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            pod: PodParts(self.pod.0 | other.pod.0),
            node: self.node.with(other.node),
            load: self.load || other.load,
            other_pods: self.other_pods || other.other_pods,
            other_nodes: self.other_nodes || other.other_nodes,
            namespace: self.namespace || other.namespace,
        }
    }

    /// Whether an answer may change while the pod stays as it is and no node is looked at.
    pub fn is_of_cluster(self) -> bool {
        self.other_pods || self.other_nodes || self.namespace
    }

    pub fn key(self, pod: &Pod, key: &mut Key) {
        let template = &pod.template;
        let parts = [
            (PodParts::IDENTITY, pod.identity.id()),
            (PodParts::REQUESTS, template.requests.id()),
            (PodParts::TOLERATIONS, template.tolerations.id()),
            (PodParts::PRIORITY, u64::from(template.priority.cast_unsigned())),
            (PodParts::NODE_AFFINITY, template.node_affinity.id()),
            (PodParts::TEMPLATE, template.id()),
            (PodParts::ANNOTATIONS, pod.annotations.id()),
            (PodParts::API_VALUES, pod.api_values.id()),
        ];
        parts.into_iter().filter(|(part, _)| self.pod.has(*part)).for_each(|(_, id)| key.push(id));
        if self.pod.has(PodParts::ITSELF) {
            key.push_text(&pod.uid);
            key.push_text(&pod.name);
            key.push(template.volumes.id());
        }
    }

    /// Events that may change an answer.
    pub fn events(self) -> Events {
        let part = |part: NodeParts, event: Event| self.node.meets(part).then_some(event);
        let node = [
            Some(Event::NodeAdd),
            part(NodeParts::LABELS, Event::NodeLabel),
            part(NodeParts::TAINTS.with(NodeParts::UNSCHEDULABLE), Event::NodeTaint),
            part(NodeParts::ALLOCATABLE.with(NodeParts::CAPACITY), Event::NodeAllocatable),
            part(NodeParts::CONDITIONS, Event::NodeCondition),
            part(NodeParts::ANNOTATIONS, Event::NodeAnnotation),
            part(NodeParts::API_VALUES, Event::NodeUpdate),
        ];
        let mut events: Vec<Event> = node.into_iter().flatten().collect();
        if self.load || self.other_pods {
            let of_pods = [Event::PodAdd, Event::PodDelete, Event::PodLabel, Event::PodScaleDown];
            events.extend(of_pods);
        }
        if self.other_nodes {
            events.extend([Event::NodeDelete, Event::NodeLabel, Event::NodeAllocatable]);
        }
        if self.pod != PodParts::NONE {
            let own = [Event::PodLabel, Event::PodScaleDown, Event::PodToleration];
            events.extend(own);
            events.push(Event::PodUpdate);
        }
        if self.namespace {
            events.extend(Event::of_object(Kind::Namespace));
        }
        Events::of(&events)
    }
}
