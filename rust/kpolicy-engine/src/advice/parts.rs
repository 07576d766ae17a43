//! What changes make of the parts of a pod's spec, and which fields of the API they touch.

use crate::model::{Kind, Labels, NodeSelector, NodeSelectorTerm, Requirement};
use crate::resources::{Requests, reduced};
use crate::snapshot::Pod;
use crate::snapshot::containers::Containers;
use crate::snapshot::pod::{NodeAffinity, PodAffinity};
use crate::snapshot::supposed::PodParts;

use super::change::{Change, Constraint, Dropped};

/// The parts of the pod that the changes make others; `None` where one cannot be made.
pub(super) fn with(pod: &Pod, changes: &[Change]) -> Option<PodParts> {
    let mut parts = PodParts::default();
    let mut dropped = Vec::new();
    let mut without = Vec::new();
    for change in changes {
        match change {
            Change::Request { resource, from, to } => {
                let by = from.checked_sub(*to).filter(|by| *by > 0)?;
                lower(pod, &mut parts, resource, by)?;
            }
            Change::Toleration(toleration) => {
                let own = parts.tolerations.take();
                let own = own.unwrap_or_else(|| pod.template.tolerations.to_vec().into());
                parts.tolerations =
                    Some([&own[..], std::slice::from_ref(toleration)].concat().into());
            }
            Change::Selector { key, .. } => {
                let affinity = parts.node_affinity.get_or_insert_with(|| node_affinity(pod));
                let left = affinity.selector.as_ref()?.iter().filter(|(own, _)| **own != **key);
                let left: Labels = left.collect();
                affinity.selector = (!left.is_empty()).then_some(left);
            }
            Change::Requirement(requirement) => dropped.push(requirement),
            Change::Constraint { sort, position, .. } => without.push((*sort, *position)),
            Change::PodLabel { key, value } => {
                let own = parts.labels.as_ref().unwrap_or_else(|| pod.labels());
                parts.labels = Some(labelled(own, key, Some(value)));
            }
            _ => {}
        }
    }
    if !dropped.is_empty() {
        let affinity = parts.node_affinity.get_or_insert_with(|| node_affinity(pod));
        affinity.required = without_requirements(affinity.required.as_ref()?, &dropped);
    }
    if without.iter().any(|(sort, _)| *sort == Constraint::Spread) {
        let left = left_of(&pod.template.spread, Constraint::Spread, &without);
        parts.spread = Some(left.into());
    }
    if without.iter().any(|(sort, _)| *sort != Constraint::Spread) {
        let mut affinity = PodAffinity::clone(&pod.template.pod_affinity);
        affinity.required = left_of(&affinity.required, Constraint::Affinity, &without).into();
        let left = left_of(&affinity.anti_required, Constraint::AntiAffinity, &without);
        affinity.anti_required = left.into();
        parts.pod_affinity = Some(affinity);
    }
    Some(parts)
}

/// Whether it is known which container would ask for less.
pub(super) fn may_lower(pod: &Pod, resource: &str) -> bool {
    let containers = &pod.template.containers;
    let summed = reduced::summed(&containers.init, &containers.regular, resource);
    summed == Some(pod.requests().fit.get(resource))
}

/// Labels with one more, with another value, or with one less.
pub(super) fn labelled(labels: &Labels, key: &str, value: Option<&str>) -> Labels {
    let others = labels.iter().filter(|(own, _)| *own != key);
    others.chain(value.map(|value| (key, value))).collect()
}

/// The kind of object that a change is made of, and what of it.
pub(super) fn fields_of(change: &Change) -> (Kind, &'static [&'static str]) {
    match change {
        Change::Request { .. } => (Kind::Pod, &["spec.containers", "spec.initContainers"]),
        Change::Toleration(_) => (Kind::Pod, &["spec.tolerations"]),
        Change::Selector { .. } => (Kind::Pod, &["spec.nodeSelector"]),
        Change::Constraint { sort: Constraint::Spread, .. } => {
            (Kind::Pod, &["spec.topologySpreadConstraints"])
        }
        Change::Requirement(_) | Change::Constraint { .. } => (Kind::Pod, &["spec.affinity"]),
        Change::PodLabel { .. } => (Kind::Pod, &["metadata.labels"]),
        Change::Untaint { .. } => (Kind::Node, &["spec.taints"]),
        Change::Uncordon { .. } => (Kind::Node, &["spec.taints", "spec.unschedulable"]),
        Change::NodeLabel { .. } => (Kind::Node, &["metadata.labels"]),
        Change::Removal { .. } | Change::Rule { .. } | Change::Constant(_) => (Kind::Node, &[]),
    }
}

fn lower(pod: &Pod, parts: &mut PodParts, resource: &str, by: i64) -> Option<()> {
    if !may_lower(pod, resource) {
        return None;
    }
    let requests = parts.requests.take();
    let requests = requests.as_ref().unwrap_or_else(|| pod.requests());
    parts.requests = Some(Requests::lowered(requests, resource, by));
    let containers =
        parts.containers.get_or_insert_with(|| Containers::clone(&pod.template.containers));
    let left = reduced::take_off(&mut containers.regular, resource, by);
    (reduced::take_off(&mut containers.init, resource, left) == 0).then_some(())
}

fn node_affinity(pod: &Pod) -> NodeAffinity {
    NodeAffinity::clone(&pod.template.node_affinity)
}

/// `None`: nothing is required any more, as a term asks for nothing.
fn without_requirements(selector: &NodeSelector, dropped: &[&Dropped]) -> Option<NodeSelector> {
    let left_in = |term: usize, is_field: bool, own: &[Requirement]| -> Vec<Requirement> {
        let is_dropped = |position: usize| {
            let is_it = |one: &&Dropped| {
                (one.term, one.is_field, one.position) == (term, is_field, position)
            };
            dropped.iter().any(is_it)
        };
        let left = own.iter().enumerate().filter(|(position, _)| !is_dropped(*position));
        left.map(|(_, requirement)| requirement.clone()).collect()
    };
    let mut terms = Vec::new();
    for (position, term) in selector.terms.iter().enumerate() {
        let was_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        let match_expressions = left_in(position, false, &term.match_expressions);
        let match_fields = left_in(position, true, &term.match_fields);
        if !was_empty && match_expressions.is_empty() && match_fields.is_empty() {
            return None;
        }
        terms.push(NodeSelectorTerm {
            match_expressions: match_expressions.into(),
            match_fields: match_fields.into(),
        });
    }
    Some(NodeSelector { terms: terms.into() })
}

fn left_of<T: Clone>(own: &[T], sort: Constraint, without: &[(Constraint, usize)]) -> Vec<T> {
    let stays = |position: usize| !without.contains(&(sort, position));
    let left = own.iter().enumerate().filter(|(position, _)| stays(*position));
    left.map(|(_, one)| one.clone()).collect()
}
