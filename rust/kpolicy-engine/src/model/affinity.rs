//! Affinity of pods to nodes and to other pods, and topology spread constraints.

use crate::heap::HeapBytes;

use super::selector::{Requirement, Selector};

/// Terms are `ORed`; a required selector without terms matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    pub terms: Box<[NodeSelectorTerm]>,
}

/// Requirements are `ANDed`; a term without any matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct NodeSelectorTerm {
    pub match_expressions: Box<[Requirement]>,
    /// Only `metadata.name` with `In` or `NotIn` and one value can be parsed.
    pub match_fields: Box<[Requirement]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodAffinityTerm {
    /// `None` matches no pod.
    pub label_selector: Option<Selector>,
    /// Sorted.
    pub namespaces: Box<[Box<str>]>,
    /// `None`: only `namespaces`, or the owner's own where those are empty. Empty: all namespaces.
    pub namespace_selector: Option<Selector>,
    pub topology_key: Box<str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Affinity {
    pub node_required: Option<NodeSelector>,
    pub node_preferred: Box<[(i32, NodeSelectorTerm)]>,
    /// Why the preferred terms cannot be parsed, in kube-scheduler's words.
    pub node_preferred_problem: Option<Box<str>>,
    pub pod_required: Box<[PodAffinityTerm]>,
    pub pod_preferred: Box<[(i32, PodAffinityTerm)]>,
    pub anti_required: Box<[PodAffinityTerm]>,
    pub anti_preferred: Box<[(i32, PodAffinityTerm)]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    pub max_skew: i32,
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
