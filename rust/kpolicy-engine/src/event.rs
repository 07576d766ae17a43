//! Events of the cluster, in kube-scheduler's vocabulary: [`Event`] (one kind, with its metrics
//! label), [`Events`] (the set that a rule registers), and which events an [`Occurrence`] counts
//! as.

use crate::model::Kind;
use crate::snapshot::node::{Node, NodeParts};
use crate::snapshot::objects::Replaced;
use crate::snapshot::pod::Pod;

pub use crate::snapshot::Occurrence;

/// How the labels of events name a pending pod that is changed itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingPod {
    /// `UnschedulablePod`, as any other pod without a node.
    Unschedulable,
    /// `TargetPod`.
    Target,
}

/// Whose event it is, which its label says: of a pod on a node (or of anything else), or of the
/// pending pod itself in the words of a release.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whose {
    Assigned,
    Pending(PendingPod),
}

/// The label of an event; three if it differs between pods on nodes and pending pods.
macro_rules! label {
    ($whose:ident, $label:literal) => {
        $label
    };
    ($whose:ident, $assigned:literal, $pending:literal, $target:literal) => {
        match $whose {
            Whose::Assigned => $assigned,
            Whose::Pending(PendingPod::Unschedulable) => $pending,
            Whose::Pending(PendingPod::Target) => $target,
        }
    };
}

/// The events of nodes, pods and time, one row each: its name, what a pod that waits for it reads, and
/// its label in kube-scheduler's metrics (of pods on nodes, `or` of pending pods by both of their names).
macro_rules! events {
    ($($(#[$doc:meta])* $event:ident, $words:literal,
       $label:literal $(or $pending:literal or $target:literal)?;)+) => {
        /// One kind of happening.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Event {
            $($(#[$doc])* $event,)+
            /// An object of another kind is added.
            ObjectAdd(Kind),
            /// An object of another kind changes.
            ObjectUpdate(Kind),
            /// An object of another kind is deleted.
            ObjectDelete(Kind),
        }

        /// The position of each row, which is its bit.
        enum Row {
            $($event,)+
        }

        const OF_NODES_AND_PODS: &[Event] = &[$(Event::$event),+];

        impl Event {
            /// For people: what a pod waits for.
            pub(crate) fn words(self) -> String {
                match self {
                    $(Self::$event => $words.to_owned(),)+
                    Self::ObjectAdd(kind) => format!("a {} is added", kind.name()),
                    Self::ObjectUpdate(kind) => format!("a {} changes", kind.name()),
                    Self::ObjectDelete(kind) => format!("a {} is removed", kind.name()),
                }
            }

            fn bit(self) -> u128 {
                let objects_from = OF_NODES_AND_PODS.len();
                let of_object = |kind: Kind, action| objects_from + 3 * kind as usize + action;
                let position = match self {
                    $(Self::$event => Row::$event as usize,)+
                    Self::ObjectAdd(kind) => of_object(kind, 0),
                    Self::ObjectUpdate(kind) => of_object(kind, 1),
                    Self::ObjectDelete(kind) => of_object(kind, 2),
                };
                1 << position
            }

            /// As in kube-scheduler's metrics.
            pub(crate) fn label(self, whose: Whose) -> &'static str {
                match self {
                    $(Self::$event => label!(whose, $label $(, $pending, $target)?),)+
                    Self::ObjectAdd(kind) => kind.event_labels()[0],
                    Self::ObjectUpdate(kind) => kind.event_labels()[1],
                    Self::ObjectDelete(kind) => kind.event_labels()[2],
                }
            }
        }
    };
}

events! {
    /// A node is added.
    NodeAdd, "a node is added", "NodeAdd";
    /// A node is deleted.
    NodeDelete, "a node is removed", "NodeDelete";
    /// `status.allocatable` of a node differs.
    NodeAllocatable, "what a node can allocate changes", "NodeUpdateNodeAllocatable";
    /// Labels of a node differ.
    NodeLabel, "a label of a node changes", "NodeUpdateNodeLabel";
    /// Taints differ, or the node became schedulable.
    NodeTaint, "a taint of a node changes, or it takes pods again", "NodeUpdateNodeTaint";
    /// Conditions of a node differ.
    NodeCondition, "a condition of a node changes", "NodeUpdateNodeCondition";
    /// Annotations of a node differ.
    NodeAnnotation, "an annotation of a node changes", "NodeUpdateNodeAnnotation";
    /// `status.declaredFeatures` of a node differ.
    NodeFeature, "a declared feature of a node changes", "NodeUpdateNodeDeclaredFeature";
    /// `status.capacity` of a node differs.
    NodeCapacity, "the capacity of a node changes", "NodeUpdate";
    /// `status.images` of a node differ.
    NodeImages, "the images on a node change", "NodeUpdate";
    /// The node takes no more pods. (`NodeTaint` says that it takes pods again.)
    NodeCordon, "a node takes no more pods", "NodeUpdate";
    /// Something else of a node that an expression reads by API path.
    NodeUpdate, "something else of a node changes", "NodeUpdate";
    /// Pods on nodes, and for updates also the waiting pod itself.
    PodAdd, "a pod is placed on a node", "AssignedPodAdd";
    /// A pod on a node is deleted or reaches a terminal phase.
    PodDelete, "a pod leaves a node", "AssignedPodDelete";
    /// Labels of a pod differ.
    PodLabel, "a label of a pod changes",
        "AssignedPodUpdatePodLabel" or "UnschedulablePodUpdatePodLabel"
        or "TargetPodUpdatePodLabel";
    /// A pod requests less of some resource than before.
    PodScaleDown, "a pod comes to request less",
        "AssignedPodUpdatePodScaleDown" or "UnschedulablePodUpdatePodScaleDown"
        or "TargetPodUpdatePodScaleDown";
    /// Tolerations of a pod differ.
    PodToleration, "a toleration of the pod changes",
        "AssignedPodUpdatePodToleration" or "UnschedulablePodUpdatePodToleration"
        or "TargetPodUpdatePodToleration";
    /// The last of `spec.schedulingGates` is removed.
    PodGatesGone, "the pod's last scheduling gate is removed",
        "AssignedPodUpdatePodSchedulingGatesEliminated"
        or "UnschedulablePodUpdatePodSchedulingGatesEliminated"
        or "TargetPodUpdatePodSchedulingGatesEliminated";
    /// Claims of the pod were made from templates.
    PodGeneratedClaim, "claims of the pod are made",
        "AssignedPodUpdatePodGeneratedResourceClaim"
        or "UnschedulablePodUpdatePodGeneratedResourceClaim"
        or "TargetPodUpdatePodGeneratedResourceClaim";
    /// A pod on a node is being deleted.
    PodTermination, "a pod on a node is being deleted",
        "AssignedPodUpdate" or "UnschedulablePodUpdate" or "TargetPodUpdate";
    /// Anything else of a pod, and whatever has an event of its own but labels and gates.
    PodUpdate, "the pod itself is changed",
        "AssignedPodUpdate" or "UnschedulablePodUpdate" or "TargetPodUpdate";
    /// Nothing changed but the time.
    TimePasses, "time passes", "TimePasses";
}

/// A set of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events(u128);

impl Events {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u128::MAX);

    pub(crate) fn of(events: &[Event]) -> Self {
        Self(events.iter().fold(0, |bits, event| bits | event.bit()))
    }

    /// Every event of objects of some kinds.
    pub fn of_objects(kinds: &[Kind]) -> Self {
        kinds
            .iter()
            .fold(Self::NONE, |events, kind| events.with(Self::of(&Event::of_object(*kind))))
    }

    /// The events of both sets.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set has the event.
    pub fn contains(self, event: Event) -> bool {
        self.0 & event.bit() != 0
    }

    /// Those in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        let of_objects = Kind::ALL.into_iter().flat_map(Event::of_object);
        OF_NODES_AND_PODS
            .iter()
            .copied()
            .chain(of_objects)
            .filter(move |event| self.contains(*event))
    }
}

impl Event {
    /// Every event of one kind of object.
    pub(crate) fn of_object(kind: Kind) -> [Self; 3] {
        [Self::ObjectAdd(kind), Self::ObjectUpdate(kind), Self::ObjectDelete(kind)]
    }
}

impl Occurrence {
    /// What it counts as. An update may count as several events, or none.
    pub fn events(&self) -> Vec<Event> {
        match self {
            Self::Node { old: Some(old), new: Some(new), parts } => node_events(old, new, *parts),
            Self::Node { old: None, .. } => vec![Event::NodeAdd],
            Self::Node { new: None, .. } => vec![Event::NodeDelete],
            Self::Pod { old: Some(old), new: Some(new), .. } => pod_events(old, new),
            Self::Pod { old: None, .. } => vec![Event::PodAdd],
            Self::Pod { new: None, .. } => vec![Event::PodDelete],
            Self::Object(Replaced { kind, old, new }) => vec![match (old, new) {
                (None, _) => Event::ObjectAdd(*kind),
                (Some(_), Some(_)) => Event::ObjectUpdate(*kind),
                (Some(_), None) => Event::ObjectDelete(*kind),
            }],
            Self::Time { .. } => vec![Event::TimePasses],
        }
    }
}

fn node_events(old: &Node, new: &Node, parts: NodeParts) -> Vec<Event> {
    let is_schedulable = !new.object.unschedulable;
    let became_schedulable = old.object.unschedulable && is_schedulable;
    let differing = [
        (parts.meets(NodeParts::ALLOCATABLE), Event::NodeAllocatable),
        (parts.meets(NodeParts::LABELS), Event::NodeLabel),
        (parts.meets(NodeParts::TAINTS) || became_schedulable, Event::NodeTaint),
        (parts.meets(NodeParts::CONDITIONS), Event::NodeCondition),
        (parts.meets(NodeParts::ANNOTATIONS), Event::NodeAnnotation),
        (parts.meets(NodeParts::FEATURES), Event::NodeFeature),
        (parts.meets(NodeParts::CAPACITY), Event::NodeCapacity),
        (parts.meets(NodeParts::IMAGES), Event::NodeImages),
        (parts.meets(NodeParts::UNSCHEDULABLE) && !is_schedulable, Event::NodeCordon),
        (parts.meets(NodeParts::API_VALUES), Event::NodeUpdate),
    ];
    differing.into_iter().filter_map(|(differs, event)| differs.then_some(event)).collect()
}

fn pod_events(old: &Pod, new: &Pod) -> Vec<Event> {
    let differing = [
        (old.labels() != new.labels(), Event::PodLabel),
        (requests_less(old, new), Event::PodScaleDown),
        (old.is_gated() && !new.is_gated(), Event::PodGatesGone),
        (old.template.tolerations != new.template.tolerations, Event::PodToleration),
        (old.claim_statuses != new.claim_statuses, Event::PodGeneratedClaim),
        (!old.is_terminating && new.is_terminating, Event::PodTermination),
    ];
    let mut events: Vec<Event> =
        differing.into_iter().filter_map(|(differs, event)| differs.then_some(event)).collect();
    let has_more = old.annotations != new.annotations
        || old.api_values != new.api_values
        || old.template != new.template;
    if events.is_empty() || has_more {
        events.push(Event::PodUpdate);
    }
    events
}

fn requests_less(old: &Pod, new: &Pod) -> bool {
    let (old, new) = (&old.requests().held, &new.requests().held);
    new.cpu_milli < old.cpu_milli
        || new.memory < old.memory
        || new.ephemeral_storage < old.ephemeral_storage
        || old.scalars.iter().any(|(name, amount)| new.scalar(name) < *amount)
}

#[cfg(test)]
mod tests {
    use super::{Event, Events, OF_NODES_AND_PODS};
    use crate::model::Kind;

    #[test]
    fn every_event_has_a_bit_of_its_own() {
        let all: Vec<Event> = Kind::ALL.into_iter().flat_map(Event::of_object).collect();
        assert_eq!(all.len(), 3 * Kind::ALL.len());
        for event in &all {
            let only = Events::of(&[*event]);
            assert_eq!(all.iter().filter(|other| only.contains(**other)).count(), 1, "{event:?}");
            assert!(!only.contains(Event::PodUpdate));
            assert_eq!(only.iter().collect::<Vec<_>>(), [*event]);
        }
        assert_eq!(Events::ALL.iter().count(), OF_NODES_AND_PODS.len() + all.len());
    }
}
