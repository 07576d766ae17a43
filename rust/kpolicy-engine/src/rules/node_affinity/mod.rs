//! `NodeAffinity`: the node selector and node affinity of the pod, and what the profile adds to it.
//!
//! Specification: Kubernetes API `NodeAffinity`; kube-scheduler's `addedAffinity`. Reads: node
//! labels and name; the pod's node selector and node affinity.

mod added;

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{NodeSelector, NodeSelectorTerm, SelectorOperator};
use crate::part::{Part, Parts};
use crate::snapshot::pod::NodeAffinity as Wanted;
use crate::snapshot::{Cluster, Node, NodeParts, NodeView, Pod};

pub(crate) use added::from_args;

use super::label_lanes::{self, add_where, selected};
use super::node_selection::{NAME_FIELD, requires, selects, term_selects};
use super::{
    Code, Filter, HeldBytes, Key, NodeNames, Normalization, PreparedFilter, PreparedScore, Reads,
    Score, ScoreProblem, Stage, Status,
};

pub(crate) const NAME: &str = "NodeAffinity";

const REASON_ADDED: &str = "node(s) didn't match scheduler-enforced node affinity";
const REASON_POD: &str = "node(s) didn't match Pod's node affinity/selector";
const REASON_CONFLICT: &str = "pod affinity terms conflict";

const ADDED: Code = Code::reject(1);
const OWN: Code = Code::reject(2);

/// What the profile adds to every pod's own node affinity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AddedAffinity {
    pub(crate) required: Option<NodeSelector>,
    pub(crate) preferred: Box<[(i32, NodeSelectorTerm)]>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct NodeAffinity {
    pub(crate) added: Arc<AddedAffinity>,
}

#[derive(Debug, Clone)]
struct PreparedNodeAffinity {
    added: Arc<AddedAffinity>,
    wanted: Shared<Wanted>,
    only_nodes: Option<NodeNames>,
    conflict: Option<Status>,
}

impl Filter for NodeAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.node_affinity.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let wanted = &pod.template.node_affinity;
        let asks_nothing =
            wanted.selector.is_none() && wanted.required.is_none() && self.added.required.is_none();
        if asks_nothing {
            return None;
        }
        let only_nodes = wanted.required.as_ref().and_then(named_nodes);
        let conflict = only_nodes
            .as_ref()
            .is_some_and(NodeNames::is_empty)
            .then(|| Status::unresolvable(REASON_CONFLICT));
        Some(Box::new(PreparedNodeAffinity {
            added: self.added.clone(),
            wanted: wanted.clone(),
            only_nodes,
            conflict,
        }))
    }

    fn events(&self) -> Events {
        Events::of(&[Event::NodeAdd, Event::NodeLabel])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        let Occurrence::Node { old, new: Some(new), .. } = occurrence else { return false };
        let passes = |node: &Node| judge(&self.added, &pod.template.node_affinity, node).passes();
        passes(new) && old.as_ref().is_none_or(|old| !passes(old))
    }
}

impl PreparedFilter for PreparedNodeAffinity {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn stage(&self) -> Stage<'_> {
        self.conflict.as_ref().map_or(Stage::Check, Stage::Reject)
    }

    fn only_nodes(&self) -> Option<&NodeNames> {
        self.only_nodes.as_ref()
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        judge(&self.added, &self.wanted, node.node)
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        let own = label_lanes::required(&self.wanted, cluster);
        for (code, own) in codes.iter_mut().zip(own) {
            *code = if own { Code::PASS } else { OWN };
        }
        if let Some(required) = &self.added.required {
            let lanes = selected(required, cluster);
            for (code, lane) in codes.iter_mut().zip(lanes) {
                *code = if lane { *code } else { ADDED };
            }
        }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        Status::unresolvable(if code == ADDED { REASON_ADDED } else { REASON_POD })
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(
            size_of_val(self) + self.only_nodes.heap_bytes() + self.conflict.heap_bytes(),
        )
    }
}

fn judge(added: &AddedAffinity, wanted: &Wanted, node: &Node) -> Code {
    let (labels, name) = (&node.object.meta.labels, node.name.as_ref());
    if !added.required.as_ref().is_none_or(|required| selects(required, labels, name)) {
        ADDED
    } else if requires(wanted, labels, name) {
        Code::PASS
    } else {
        OWN
    }
}

/// The nodes that the terms name; `None` as soon as one term names none, for then any node may do.
fn named_nodes(required: &NodeSelector) -> Option<NodeNames> {
    if required.terms.is_empty() {
        return None;
    }
    let mut union = NodeNames::new();
    for term in &required.terms {
        let mut named: Option<NodeNames> = None;
        for field in &term.match_fields {
            if field.key.as_ref() == NAME_FIELD && field.operator == SelectorOperator::In {
                let values: NodeNames = field.values.iter().cloned().collect();
                named = Some(match named {
                    None => values,
                    Some(have) => have.intersection(&values).cloned().collect(),
                });
            }
        }
        union.extend(named?);
    }
    Some(union)
}

#[derive(Debug)]
struct Preferred {
    added: Arc<AddedAffinity>,
    wanted: Shared<Wanted>,
}

impl Score for NodeAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.node_affinity.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let wanted = &pod.template.node_affinity;
        if wanted.preferred.is_empty() && self.added.preferred.is_empty() {
            return None;
        }
        Some(Box::new(Preferred { added: self.added.clone(), wanted: wanted.clone() }))
    }
}

impl PreparedScore for Preferred {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn problem(&self) -> Option<ScoreProblem<'_>> {
        self.wanted.preferred_problem.as_deref().map(ScoreProblem::PreScore)
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let (labels, name) = (&node.node.object.meta.labels, node.node.name.as_ref());
        let terms = self.added.preferred.iter().chain(&self.wanted.preferred);
        let matching = terms.filter(|(_, term)| term_selects(term, labels, name));
        matching.map(|(weight, _)| f64::from(*weight)).sum()
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        raw.fill(0.0);
        for (weight, term) in self.added.preferred.iter().chain(&self.wanted.preferred) {
            add_where(term, f64::from(*weight), cluster, raw);
        }
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Highest
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}
