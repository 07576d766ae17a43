//! What may let a pod through that was rejected for what it requests.

use crate::event::{Event, Events, Occurrence};
use crate::model::Kind;
use crate::release::{Followed, Gate};
use crate::snapshot::{Cluster, Node, Pod};

use super::devices::extended::{class_behind, may_be_devices};
use super::node_resources_fit::NodeResourcesFit;

/// Devices of a class may stand behind what a pod requests.
pub(super) fn kinds(followed: Followed) -> &'static [Kind] {
    if followed.has(Gate::DRAExtendedResource) { &[Kind::DeviceClass] } else { &[] }
}

pub(super) fn events(followed: Followed) -> Events {
    let events = Events::of(&[
        Event::PodDelete,
        Event::PodScaleDown,
        Event::NodeAdd,
        Event::NodeAllocatable,
    ]);
    let has_classes = followed.has(Gate::DRAExtendedResource);
    if has_classes { events.with(of_classes()) } else { events }
}

fn of_classes() -> Events {
    Events::of(&[Event::ObjectAdd(Kind::DeviceClass), Event::ObjectUpdate(Kind::DeviceClass)])
}

/// A class helps only a pod that asks for a resource that may be devices.
pub(super) fn events_of_no_use_to(pod: &Pod) -> Events {
    let wanted = &pod.requests().fit.scalars;
    let is_asked = wanted.iter().any(|(name, amount)| *amount > 0 && may_be_devices(name));
    if is_asked { Events::NONE } else { of_classes() }
}

pub(super) fn wakes(
    rule: &NodeResourcesFit,
    pod: &Pod,
    event: Event,
    occurrence: &Occurrence,
    cluster: &Cluster,
) -> bool {
    match occurrence {
        Occurrence::Pod { is_assigned, .. } if event == Event::PodDelete => *is_assigned,
        Occurrence::Pod { old: Some(old), new: Some(new), .. } => {
            new.uid == pod.uid || frees(pod, old, new)
        }
        Occurrence::Node { old, new: Some(new), .. } => {
            fits_empty(rule, pod, new, cluster)
                && old.as_ref().is_none_or(|old| grew(pod, old, new))
        }
        Occurrence::Object(_) => {
            let wanted = &pod.requests().fit.scalars;
            wanted.iter().any(|(name, _)| class_behind(name, cluster, rule.followed).is_some())
        }
        _ => false,
    }
}

/// Whether a pod on a node gave up some of what this one asks for.
fn frees(pod: &Pod, old: &Pod, new: &Pod) -> bool {
    let (wanted, old, new) = (&pod.requests().fit, &old.requests().held, &new.requests().held);
    (wanted.cpu_milli > 0 && new.cpu_milli < old.cpu_milli)
        || (wanted.memory > 0 && new.memory < old.memory)
        || (wanted.ephemeral_storage > 0 && new.ephemeral_storage < old.ephemeral_storage)
        || wanted.scalars.iter().any(|(name, _)| new.scalar(name) < old.scalar(name))
}

/// Whether a node offers more of something that the pod asks for.
fn grew(pod: &Pod, old: &Node, new: &Node) -> bool {
    let wanted = &pod.requests().fit;
    let (had, has) = (&old.allocatable.amounts, &new.allocatable.amounts);
    new.allocatable.pods > old.allocatable.pods
        || (wanted.cpu_milli > 0 && has.cpu_milli > had.cpu_milli)
        || (wanted.memory > 0 && has.memory > had.memory)
        || (wanted.ephemeral_storage > 0 && has.ephemeral_storage > had.ephemeral_storage)
        || wanted.scalars.iter().any(|(name, _)| has.scalar(name) > had.scalar(name))
}

/// Whether a node would have room for the pod without other pods.
fn fits_empty(rule: &NodeResourcesFit, pod: &Pod, node: &Node, cluster: &Cluster) -> bool {
    let is_of_devices = |name: &str| class_behind(name, cluster, rule.followed).is_some();
    let (wanted, has) = (&pod.requests().fit, &node.allocatable.amounts);
    node.allocatable.pods >= 1
        && wanted.cpu_milli <= has.cpu_milli
        && wanted.memory <= has.memory
        && wanted.ephemeral_storage <= has.ephemeral_storage
        && wanted.scalars.iter().all(|(name, amount)| {
            rule.ignores(name)
                || *amount <= has.scalar(name)
                || has.scalar(name) == 0 && is_of_devices(name)
        })
}
