//! The parts of the cluster that an answer may depend on, and the events that change each part.
//!
//! A part without an event does not compile. The parts that a rule reads decide what wakes the pods
//! that it rejected.

use crate::event::{Event, Events};
use crate::model::Kind;
use crate::snapshot::NodeParts;

/// The parts, and the list of all of them.
macro_rules! parts {
    ($($(#[$doc:meta])* $part:ident,)+) => {
        /// A part of the cluster, or of the pending pod, that an answer may depend on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Part {
            $($(#[$doc])* $part,)+
        }

        impl Part {
            /// Every part, in the order of declaration.
            pub(crate) const ALL: &[Self] = &[$(Self::$part),+];
        }
    };
}

parts! {
    /// Of the pending pod: namespace and labels.
    PodIdentity,
    /// What the pending pod requests, with overhead.
    PodRequests,
    /// `spec.tolerations` of the pending pod.
    PodTolerations,
    /// `spec.priority` of the pending pod.
    PodPriority,
    /// Node selector and node affinity of the pending pod.
    PodNodeAffinity,
    /// Anything else of the pod's specification.
    PodTemplate,
    /// Annotations of the pending pod.
    PodAnnotations,
    /// Its name or uid, which no other pod shares.
    PodName,
    /// What is read of the pod by API path.
    PodApiValues,
    /// Which nodes there are.
    NodeExistence,
    /// Labels of the node.
    NodeLabels,
    /// `spec.taints` of the node.
    NodeTaints,
    /// `spec.unschedulable` of the node.
    NodeUnschedulable,
    /// `status.allocatable` of the node.
    NodeAllocatable,
    /// `status.capacity` of the node.
    NodeCapacity,
    /// `status.conditions` of the node.
    NodeConditions,
    /// Annotations of the node.
    NodeAnnotations,
    /// `status.images` of the node.
    NodeImages,
    /// `status.declaredFeatures` of the node.
    NodeFeatures,
    /// What is read of the node by API path.
    NodeApiValues,
    /// Pods on the node: which, their labels and requests.
    Load,
    /// Anything else of pods on the node.
    LoadInDetail,
    /// Pods on other nodes: which, their labels and requests.
    OtherPods,
    /// Which pods, on any node, are being deleted.
    Terminations,
    /// Other nodes: which, their labels and resources.
    OtherNodes,
    /// The pod's namespace as an object.
    Namespace,
    /// Disruption budgets that cover the pod.
    DisruptionBudgets,
    /// The pod's controller as an object.
    Controller,
    /// The moment of the decision.
    Time,
    /// What the pods of the pod's tenant hold together.
    Usage,
    /// Resource claims, and which devices there are and are free.
    Claims,
    /// The other pods of the pod's group. No rule reads them yet.
    Group,
    /// Room that is held for nominated pods. No rule reads it yet.
    Holds,
}

impl Part {
    /// What changes it. Without a wildcard, so that a new part is given its events.
    fn events(self) -> Events {
        const PODS: [Event; 4] =
            [Event::PodAdd, Event::PodDelete, Event::PodLabel, Event::PodScaleDown];
        // One update of the pending pod may change several of its parts.
        const OWN: [Event; 4] =
            [Event::PodLabel, Event::PodScaleDown, Event::PodToleration, Event::PodUpdate];
        match self {
            Self::PodIdentity
            | Self::PodRequests
            | Self::PodTolerations
            | Self::PodPriority
            | Self::PodNodeAffinity
            | Self::PodTemplate
            | Self::PodAnnotations
            | Self::PodName
            | Self::PodApiValues => Events::of(&OWN),
            Self::NodeExistence => Events::of(&[Event::NodeAdd]),
            Self::NodeLabels => Events::of(&[Event::NodeLabel]),
            Self::NodeTaints => Events::of(&[Event::NodeTaint]),
            Self::NodeUnschedulable => Events::of(&[Event::NodeTaint, Event::NodeCordon]),
            Self::NodeAllocatable => Events::of(&[Event::NodeAllocatable]),
            Self::NodeCapacity => Events::of(&[Event::NodeCapacity]),
            Self::NodeConditions => Events::of(&[Event::NodeCondition]),
            Self::NodeAnnotations => Events::of(&[Event::NodeAnnotation]),
            Self::NodeImages => Events::of(&[Event::NodeImages]),
            Self::NodeFeatures => Events::of(&[Event::NodeFeature]),
            Self::NodeApiValues => Events::of(&[Event::NodeUpdate]),
            Self::Load | Self::OtherPods | Self::Usage => Events::of(&PODS),
            Self::LoadInDetail => {
                Events::of(&PODS).with(Events::of(&[Event::PodToleration, Event::PodUpdate]))
            }
            Self::OtherNodes => Events::of(&[
                Event::NodeAdd,
                Event::NodeDelete,
                Event::NodeLabel,
                Event::NodeAllocatable,
            ]),
            Self::Namespace => Events::of_objects(&[Kind::Namespace]),
            Self::DisruptionBudgets => Events::of_objects(&[Kind::PodDisruptionBudget]),
            Self::Controller => Events::of_objects(&[
                Kind::ReplicationController,
                Kind::ReplicaSet,
                Kind::StatefulSet,
            ]),
            Self::Time => Events::of(&[Event::TimePasses]),
            Self::Claims => {
                Events::of_objects(&[Kind::DeviceClass, Kind::ResourceSlice, Kind::ResourceClaim])
                    .with(Events::of(&[Event::PodGeneratedClaim]))
            }
            Self::Group => Events::of(&[Event::PodAdd, Event::PodDelete, Event::PodUpdate]),
            Self::Holds => Events::of(&[Event::PodDelete]),
            Self::Terminations => Events::of(&[Event::PodTermination]),
        }
    }

    /// The parts of the node that it is made of.
    fn of_node(self) -> NodeParts {
        match self {
            Self::NodeExistence => NodeParts::EXISTENCE,
            Self::NodeLabels => NodeParts::LABELS,
            Self::NodeTaints => NodeParts::TAINTS,
            Self::NodeUnschedulable => NodeParts::UNSCHEDULABLE,
            Self::NodeAllocatable => NodeParts::ALLOCATABLE,
            Self::NodeCapacity => NodeParts::CAPACITY,
            Self::NodeConditions => NodeParts::CONDITIONS,
            Self::NodeAnnotations => NodeParts::ANNOTATIONS,
            Self::NodeImages => NodeParts::IMAGES,
            Self::NodeFeatures => NodeParts::FEATURES,
            Self::NodeApiValues => NodeParts::API_VALUES,
            Self::PodIdentity
            | Self::PodRequests
            | Self::PodTolerations
            | Self::PodPriority
            | Self::PodNodeAffinity
            | Self::PodTemplate
            | Self::PodAnnotations
            | Self::PodName
            | Self::PodApiValues
            | Self::Load
            | Self::LoadInDetail
            | Self::OtherPods
            | Self::OtherNodes
            | Self::Terminations
            | Self::Namespace
            | Self::DisruptionBudgets
            | Self::Controller
            | Self::Time
            | Self::Usage
            | Self::Claims
            | Self::Group
            | Self::Holds => NodeParts::NONE,
        }
    }
}

/// A set of parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts(u64);

impl Parts {
    /// The empty set.
    pub(crate) const NONE: Self = Self(0);
    /// Objects besides pods and nodes.
    pub(crate) const OBJECTS: Self =
        Self::of(&[Part::Namespace, Part::DisruptionBudgets, Part::Controller, Part::Claims]);

    /// The set of these parts.
    pub(crate) const fn of(parts: &[Part]) -> Self {
        let mut bits = 0;
        let mut position = 0;
        while position < parts.len() {
            bits |= 1 << parts[position] as u64;
            position += 1;
        }
        Self(bits)
    }

    /// The parts of both sets.
    #[must_use]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the part is in the set.
    pub const fn has(self, part: Part) -> bool {
        self.0 & (1 << part as u64) != 0
    }

    /// Whether the two sets have a part in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The parts of the set, in the order of [`Part::ALL`].
    pub(crate) fn iter(self) -> impl Iterator<Item = Part> {
        Part::ALL.iter().copied().filter(move |part| self.has(*part))
    }

    /// Those among them that are objects besides pods and nodes.
    pub(crate) const fn of_objects(self) -> Self {
        Self(self.0 & Self::OBJECTS.0)
    }

    /// Whatever changes any of them.
    pub fn events(self) -> Events {
        self.iter().fold(Events::NONE, |events, part| events.with(part.events()))
    }

    /// The parts of a node among them, as the snapshot compares nodes.
    pub fn of_node(self) -> NodeParts {
        self.iter().fold(NodeParts::NONE, |parts, part| parts.with(part.of_node()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Parts};
    use crate::event::{Event, Events};
    use crate::snapshot::NodeParts;

    #[test]
    fn every_part_is_listed_and_has_events() {
        for (position, part) in Part::ALL.iter().copied().enumerate() {
            assert_eq!(part as usize, position, "{part:?}");
            assert_ne!(part.events(), Events::NONE, "{part:?}");
            assert_eq!(Parts::of(&[part]).iter().collect::<Vec<_>>(), [part]);
        }
    }

    #[test]
    fn every_part_of_a_node_is_a_part() {
        let all = Parts::of(Part::ALL);
        assert_eq!(all.of_node(), NodeParts::ALL);
        assert!(all.events().contains(Event::NodeImages));
    }
}
