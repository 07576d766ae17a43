//! The events that may help a pod that this rule rejected.
//!
//! Specification: kube-scheduler's hints ignore namespace labels, so a pod that is reached only
//! through a namespace selector wakes nothing there. [`wakes_more`] finds the pods that they miss.

use crate::event::Occurrence;
use crate::model::{Labels, PodAffinityTerm};
use crate::release::NamespaceSelectors;
use crate::snapshot::{Cluster, Node, Pod};

use super::terms::{Incoming, all_mean, all_mean_by_name, means_existing, means_incoming};

pub(super) fn wakes(pod: &Pod, occurrence: &Occurrence) -> bool {
    match occurrence {
        Occurrence::Node { old, new: Some(new), .. } => node_wakes(pod, old.as_deref(), new),
        Occurrence::Pod { new: Some(new), .. } if new.uid == pod.uid => true,
        Occurrence::Pod { old, new, is_assigned: true } => {
            pod_wakes(pod, old.as_deref(), new.as_deref())
        }
        _ => false,
    }
}

/// What becomes of an event for which kube-scheduler has no hint.
#[derive(Debug, Clone, Copy)]
pub(super) enum More<'a> {
    Yes,
    No,
    /// The rule is to be asked of this node.
    AskOf(&'a Node),
    /// The rule is to be asked again.
    Ask,
}

pub(super) fn wakes_more<'a>(pod: &Pod, occurrence: &'a Occurrence, cluster: &Cluster) -> More<'a> {
    let decided = |wakes: bool| if wakes { More::Yes } else { More::No };
    match occurrence {
        Occurrence::Pod { old, new, is_assigned: true } => {
            decided(other_pod_helps(pod, old.as_deref(), new.as_deref(), cluster))
        }
        Occurrence::Node { old: Some(old), new: Some(new), .. } => {
            // Its own pods may leave a domain, or it the domain of others.
            if node_leaves_a_domain(pod, old, new, cluster) { More::Yes } else { More::AskOf(new) }
        }
        Occurrence::Node { old: None, new: Some(new), .. } => More::AskOf(new),
        Occurrence::Node { old: Some(_), new: None, .. } | Occurrence::Object(_) => More::Ask,
        Occurrence::Node { .. } | Occurrence::Pod { .. } | Occurrence::Time { .. } => More::No,
    }
}

fn other_pod_helps(pod: &Pod, old: Option<&Pod>, new: Option<&Pod>, cluster: &Cluster) -> bool {
    let (affinity, namespace) = (&pod.template.pod_affinity, pod.namespace());
    // Also where a release selects fewer namespaces: the pod is then tried once more than need be.
    let widest = NamespaceSelectors::ByLabelsOrNone;
    let is_wanted =
        |other: &Pod| all_mean(&affinity.required, namespace, &other.identity, cluster, widest);
    let is_unwanted = |term: &PodAffinityTerm, other: Option<&Pod>| {
        other.is_some_and(|other| means_existing(term, namespace, &other.identity, cluster, widest))
    };
    let (was_wanted, wanted) = (old.is_some_and(is_wanted), new.is_some_and(is_wanted));
    // Without a pod that all terms mean, a pod that they mean itself may be the first.
    (!was_wanted && wanted)
        || (was_wanted && !wanted && is_wanted(pod))
        || affinity
            .anti_required
            .iter()
            .any(|term| is_unwanted(term, old) && !is_unwanted(term, new))
        || (new.is_none() && old.is_some_and(|old| has_term_against(pod, old, cluster, |_| true)))
}

/// Whether one of the chosen anti-affinity terms of a pod on a node means the pending pod.
fn has_term_against(
    pod: &Pod,
    other: &Pod,
    cluster: &Cluster,
    is_chosen: impl Fn(&PodAffinityTerm) -> bool,
) -> bool {
    let unknown = Labels::default();
    let namespace_labels = cluster.namespace_labels(pod.namespace()).unwrap_or(&unknown);
    let incoming = Incoming { identity: &pod.identity, namespace_labels };
    let mut terms = other.template.pod_affinity.anti_required.iter();
    terms.any(|term| is_chosen(term) && means_incoming(term, other.namespace(), incoming))
}

/// A node takes its pods out of one domain and into another.
fn node_leaves_a_domain(pod: &Pod, old: &Node, new: &Node, cluster: &Cluster) -> bool {
    let value = |node: &Node, term: &PodAffinityTerm| -> Option<Box<str>> {
        node.object.meta.labels.get(&term.topology_key).map(Into::into)
    };
    let is_moved = |term: &PodAffinityTerm| value(old, term) != value(new, term);
    let affinity = &pod.template.pod_affinity;
    if affinity.required.iter().chain(&affinity.anti_required).any(is_moved) {
        return true;
    }
    let view = cluster.nodes().find(&new.name).and_then(|slot| cluster.nodes().view(slot));
    view.is_some_and(|view| {
        view.load.pods_with_affinity > 0
            && view.load.pods.iter().any(|other| has_term_against(pod, other, cluster, is_moved))
    })
}

fn pod_wakes(pod: &Pod, old: Option<&Pod>, new: Option<&Pod>) -> bool {
    let affinity = &pod.template.pod_affinity;
    let wanted = |other: &Pod| all_mean_by_name(&affinity.required, pod, other);
    let unwanted = |other: &Pod| all_mean_by_name(&affinity.anti_required, pod, other);
    match (old, new) {
        (Some(old), Some(new)) => {
            (!wanted(old) && wanted(new)) || (unwanted(old) && !unwanted(new))
        }
        (None, Some(new)) => wanted(new),
        (Some(old), None) => {
            let theirs = &old.template.pod_affinity.anti_required;
            unwanted(old) || all_mean_by_name(theirs, old, pod)
        }
        (None, None) => false,
    }
}

fn node_wakes(pod: &Pod, old: Option<&Node>, new: &Node) -> bool {
    let affinity = &pod.template.pod_affinity;
    let now = |key: &str| new.object.meta.labels.get(key);
    let Some(old) = old else {
        let has_key = affinity.required.iter().any(|term| now(&term.topology_key).is_some());
        return has_key || !affinity.anti_required.is_empty();
    };
    let before = |key: &str| old.object.meta.labels.get(key);
    let appeared = |key: &str| now(key).is_some() && now(key) != before(key);
    let left = |key: &str| before(key).is_some() && now(key) != before(key);
    affinity.required.iter().any(|term| appeared(&term.topology_key))
        || affinity.anti_required.iter().any(|term| left(&term.topology_key))
}
