//! The events that may help a pod that this rule rejected.
//!
//! Specification: pods of the pod's namespace on a node, or nominated to one, that a hard
//! constraint means; the pod's own new labels, and its new tolerations where a constraint honours
//! taints; nodes that have, or had, all keys.

use crate::event::Occurrence;
use crate::rules::Filter;
use crate::rules::node_selection::requires;
use crate::snapshot::{Cluster, Node, Pod};

use super::PodTopologySpread;
use super::constraints::{Constraint, Constraints, Force};

pub(super) fn wakes(
    rule: &PodTopologySpread,
    pod: &Pod,
    occurrence: &Occurrence,
    cluster: &Cluster,
) -> bool {
    let hard = || Constraints::of(rule, pod, Force::Hard, cluster).list;
    match occurrence {
        Occurrence::Node { old, new, .. } => node_wakes(&hard(), old.as_deref(), new.as_deref()),
        Occurrence::Pod { old, new, is_assigned } => {
            let is_involved = |other: &Pod| {
                other.uid == pod.uid || (*is_assigned && other.namespace() == pod.namespace())
            };
            let sides = [old.as_deref(), new.as_deref()];
            sides.into_iter().flatten().all(is_involved)
                && pod_wakes(pod, &hard(), old.as_deref(), new.as_deref())
        }
        Occurrence::Object(_) | Occurrence::Time { .. } => false,
    }
}

/// As [`wakes`], where kube-scheduler has no hint.
pub(super) fn wakes_more(
    rule: &PodTopologySpread,
    pod: &Pod,
    occurrence: &Occurrence,
    cluster: &Cluster,
) -> bool {
    match occurrence {
        Occurrence::Pod { new: Some(other), is_assigned: true, .. } => {
            other.namespace() == pod.namespace()
                && Constraints::of(rule, pod, Force::Hard, cluster)
                    .list
                    .iter()
                    .any(|constraint| constraint.means(other.labels()))
        }
        Occurrence::Node { old: Some(old), new: Some(new), .. } => {
            let selects = |node: &Node| {
                requires(&pod.template.node_affinity, &node.object.meta.labels, &node.name)
            };
            selects(old) != selects(new)
        }
        Occurrence::Object(_) => {
            pod.template.spread.is_empty() && rule.passes_somewhere(pod, cluster)
        }
        Occurrence::Pod { .. } | Occurrence::Node { .. } | Occurrence::Time { .. } => false,
    }
}

fn pod_wakes(pod: &Pod, hard: &[Constraint], old: Option<&Pod>, new: Option<&Pod>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => {
            let tolerates_more = new.uid == pod.uid
                && old.template.tolerations != new.template.tolerations
                && hard.iter().any(|one| one.honors_taints);
            tolerates_more
                || hard.iter().any(|one| one.means(old.labels()) != one.means(new.labels()))
        }
        (None, Some(other)) | (Some(other), None) => {
            hard.iter().any(|one| one.means(other.labels()))
        }
        (None, None) => false,
    }
}

fn node_wakes(hard: &[Constraint], old: Option<&Node>, new: Option<&Node>) -> bool {
    let value = |node: &Node, one: &Constraint| -> Option<Box<str>> {
        node.object.meta.labels.get(&one.topology_key).map(Into::into)
    };
    let has_keys = |node: &Node| hard.iter().all(|one| value(node, one).is_some());
    match (old, new) {
        (Some(old), Some(new)) => {
            let moved = || hard.iter().any(|one| value(old, one) != value(new, one));
            has_keys(old) != has_keys(new)
                || (has_keys(new) && (moved() || old.taints != new.taints))
        }
        (Some(node), None) | (None, Some(node)) => has_keys(node),
        (None, None) => false,
    }
}
