//! Affinity of pods to nodes and to other pods, and topology spread constraints.

use crate::heap::HeapBytes;

use super::selector::{Requirement, Selector};

/// Terms are `ORed`; a required selector without terms matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    /// `nodeSelectorTerms`.
    pub terms: Box<[NodeSelectorTerm]>,
}

/// Requirements are `ANDed`; a term without any matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct NodeSelectorTerm {
    /// Requirements on labels of the node.
    pub match_expressions: Box<[Requirement]>,
    /// Only `metadata.name` with `In` or `NotIn` and one value can be parsed.
    pub match_fields: Box<[Requirement]>,
}

/// Pods that another pod is to be near to, or away from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodAffinityTerm {
    /// `None` matches no pod.
    pub label_selector: Option<Selector>,
    /// Sorted.
    pub namespaces: Box<[Box<str>]>,
    /// `None`: only `namespaces`, or the owner's own where those are empty. Empty: all namespaces.
    pub namespace_selector: Option<Selector>,
    /// The node label whose equal values mean the same place.
    pub topology_key: Box<str>,
}

/// `spec.affinity` of a pod; preferred terms have their weights.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Affinity {
    /// `nodeAffinity`, required.
    pub node_required: Option<NodeSelector>,
    /// `nodeAffinity`, preferred.
    pub node_preferred: Box<[(i32, NodeSelectorTerm)]>,
    /// Why the preferred terms cannot be parsed, in kube-scheduler's words.
    pub node_preferred_problem: Option<Box<str>>,
    /// `podAffinity`, required.
    pub pod_required: Box<[PodAffinityTerm]>,
    /// `podAffinity`, preferred.
    pub pod_preferred: Box<[(i32, PodAffinityTerm)]>,
    /// `podAntiAffinity`, required.
    pub anti_required: Box<[PodAffinityTerm]>,
    /// `podAntiAffinity`, preferred.
    pub anti_preferred: Box<[(i32, PodAffinityTerm)]>,
}

/// How evenly pods are spread over the values of a node label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// `maxSkew`.
    pub max_skew: i32,
    /// The node label whose values are the domains.
    pub topology_key: Box<str>,
    /// `whenUnsatisfiable: DoNotSchedule`.
    pub hard: bool,
    /// `None` matches no pod.
    pub label_selector: Option<Selector>,
    /// Sorted as in the source order; keys that the pod lacks are ignored by the rule.
    pub match_label_keys: Box<[Box<str>]>,
    /// At least 1.
    pub min_domains: i32,
    /// `nodeAffinityPolicy` is Honor (the default).
    pub honors_affinity: bool,
    /// `nodeTaintsPolicy` is Honor (Ignore is the default).
    pub honors_taints: bool,
}

impl HeapBytes for NodeSelectorTerm {
    fn heap_bytes(&self) -> usize {
        self.match_expressions.heap_bytes() + self.match_fields.heap_bytes()
    }
}

impl HeapBytes for NodeSelector {
    fn heap_bytes(&self) -> usize {
        self.terms.heap_bytes()
    }
}
