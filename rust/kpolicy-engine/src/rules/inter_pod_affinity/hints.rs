//! What may let a pod that this rule rejected through.
//!
//! Clause: kube-scheduler's hints know no namespace labels, so a pod that is reached only through a
//! namespace selector wakes nobody; the flush of pods parked too long does.

use crate::event::Occurrence;
use crate::snapshot::{Node, Pod};

use super::terms::all_mean_by_name;

pub fn wakes(pod: &Pod, occurrence: &Occurrence) -> bool {
    match occurrence {
        Occurrence::Node { old, new: Some(new), .. } => node_wakes(pod, old.as_deref(), new),
        Occurrence::Pod { new: Some(new), .. } if new.uid == pod.uid => true,
        Occurrence::Pod { old, new, is_assigned: true } => {
            pod_wakes(pod, old.as_deref(), new.as_deref())
        }
        _ => false,
    }
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
