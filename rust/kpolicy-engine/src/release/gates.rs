//! The feature gates of kube-scheduler, release by release, and those of them that rules read.

use super::Release;

/// What a release makes of a feature gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The release does not know it.
    Absent,
    /// Off by default.
    Off,
    /// On by default.
    On,
    /// On, and cannot be set otherwise.
    Locked,
}

impl Stage {
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::On | Self::Locked)
    }

    /// For tables that other programs read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Off => "off",
            Self::On => "on",
            Self::Locked => "locked",
        }
    }
}

/// Gates that decisions depend on here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Requests of administrators, who use devices besides those that have them.
    DRAAdminAccess,
    /// Devices that are shared out by their capacity, and constraints for distinct attributes.
    DRAConsumableCapacity,
    /// Devices that are made ready before the pod is bound.
    DRADeviceBindingConditions,
    /// `DeviceTaintRule`s are laid over devices.
    DRADeviceTaintRules,
    /// `NoSchedule` and `NoExecute` taints of devices count.
    DRADeviceTaints,
    /// Extended resources behind classes of devices.
    DRAExtendedResource,
    /// Ranges of capacity with fractional bounds are computed in thousandths.
    DRAFractionalCapacityRange,
    /// Counters that devices share, and devices with places of their own.
    DRAPartitionableDevices,
    /// Alternatives of a request.
    DRAPrioritizedList,
    /// Drivers write the status of devices.
    DRAResourceClaimDeviceStatus,
    /// `NodeDeclaredFeatures` filters.
    NodeDeclaredFeatures,
    /// `VolumeBinding` scores.
    StorageCapacityScoring,
    /// Tolerations compare numbers with `Lt` and `Gt`.
    TaintTolerationComparisonOperators,
    /// A node that lacks a volume's CSI driver may be rejected.
    VolumeLimitScaling,
}

impl Gate {
    /// Every one of them.
    pub const ALL: [Self; 14] = [
        Self::DRAAdminAccess,
        Self::DRAConsumableCapacity,
        Self::DRADeviceBindingConditions,
        Self::DRADeviceTaintRules,
        Self::DRADeviceTaints,
        Self::DRAExtendedResource,
        Self::DRAFractionalCapacityRange,
        Self::DRAPartitionableDevices,
        Self::DRAPrioritizedList,
        Self::DRAResourceClaimDeviceStatus,
        Self::NodeDeclaredFeatures,
        Self::StorageCapacityScoring,
        Self::TaintTolerationComparisonOperators,
        Self::VolumeLimitScaling,
    ];

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Which of the gates that decisions depend on are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Switches(u32);

impl Switches {
    pub(super) fn of(release: Release) -> Self {
        let open = FEATURE_GATES.iter().filter(|gate| gate.stage(release).is_open());
        Self(open.filter_map(|gate| gate.read).fold(0, |bits, gate| bits | gate.bit()))
    }

    pub(super) fn has(self, gate: Gate) -> bool {
        self.0 & gate.bit() != 0
    }

    pub(super) fn set(&mut self, gate: Gate, is_open: bool) {
        if is_open {
            self.0 |= gate.bit();
        } else {
            self.0 &= !gate.bit();
        }
    }
}

/// A feature gate of kube-scheduler.
#[derive(Debug, Clone, Copy)]
pub struct FeatureGate {
    /// Kubernetes' name of it.
    pub name: &'static str,
    /// By release, in the order of [`Release::ALL`].
    pub stages: [Stage; Release::ALL.len()],
    /// What reads it here; `None`: decisions are always those of its default.
    pub read: Option<Gate>,
}

impl FeatureGate {
    const fn of(name: &'static str, stages: [Stage; Release::ALL.len()]) -> Self {
        Self { name, stages, read: None }
    }

    const fn read_as(self, gate: Gate) -> Self {
        Self { read: Some(gate), ..self }
    }

    /// What a release makes of it.
    pub fn stage(&self, release: Release) -> Stage {
        let position = Release::ALL.into_iter().position(|known| known == release);
        position.and_then(|position| self.stages.get(position)).copied().unwrap_or(Stage::Absent)
    }
}

use Stage::{Absent as Non, Locked as Loc, Off, On};

/// Gates that concern scheduling, in order of name.
#[rustfmt::skip]
pub const FEATURE_GATES: &[FeatureGate] = &[
    //                                                                 1.34 1.35 1.36 1.37
    FeatureGate::of("CSIMigrationPortworx",                          [Loc, Loc, Non, Non]),
    FeatureGate::of("ClearingNominatedNodeNameAfterBinding",         [Off, On,  On,  On]),
    FeatureGate::of("CompositePodGroup",                             [Non, Non, Non, Off]),
    FeatureGate::of("DRAAdminAccess",                                [On,  On,  Loc, Loc])
        .read_as(Gate::DRAAdminAccess),
    FeatureGate::of("DRAConsumableCapacity",                         [Off, Off, On,  On])
        .read_as(Gate::DRAConsumableCapacity),
    FeatureGate::of("DRADerivedAttributes",                          [Non, Non, Non, Off]),
    FeatureGate::of("DRADeviceBindingConditions",                    [Off, Off, On,  On])
        .read_as(Gate::DRADeviceBindingConditions),
    FeatureGate::of("DRADeviceCompatibilityGroups",                  [Non, Non, Non, Off]),
    FeatureGate::of("DRADeviceTaintRules",                           [Non, Off, Off, On])
        .read_as(Gate::DRADeviceTaintRules),
    FeatureGate::of("DRADeviceTaints",                               [Off, Off, On,  On])
        .read_as(Gate::DRADeviceTaints),
    FeatureGate::of("DRAExtendedResource",                           [Off, Off, On,  Loc])
        .read_as(Gate::DRAExtendedResource),
    FeatureGate::of("DRAFractionalCapacityRange",                    [Non, Non, Non, On])
        .read_as(Gate::DRAFractionalCapacityRange),
    FeatureGate::of("DRAListTypeAttributes",                         [Non, Non, Off, Off]),
    FeatureGate::of("DRANodeAllocatableResources",                   [Non, Non, Off, Off]),
    FeatureGate::of("DRAOptionalNodeOperations",                     [Non, Non, Non, Off]),
    FeatureGate::of("DRAPartitionableDevices",                       [Off, Off, On,  On])
        .read_as(Gate::DRAPartitionableDevices),
    FeatureGate::of("DRAPartitionableDevicesType",                   [Non, Non, Non, Off]),
    FeatureGate::of("DRAPrioritizedList",                            [On,  On,  On,  Loc])
        .read_as(Gate::DRAPrioritizedList),
    FeatureGate::of("DRAResourceClaimDeviceStatus",                  [On,  On,  On,  Loc])
        .read_as(Gate::DRAResourceClaimDeviceStatus),
    FeatureGate::of("DRASchedulerFilterTimeout",                     [On,  On,  On,  On]),
    FeatureGate::of("DRAWorkloadResourceClaims",                     [Non, Non, Off, Off]),
    FeatureGate::of("DynamicResourceAllocation",                     [On,  Loc, Loc, Loc]),
    FeatureGate::of("GangScheduling",                                [Non, Off, Off, Non]),
    FeatureGate::of("GenericWorkload",                               [Non, Off, Off, Off]),
    FeatureGate::of("ImageVolume",                                   [Off, On,  Loc, Loc]),
    FeatureGate::of("InPlacePodLevelResourcesVerticalScaling",       [Non, Off, On,  On]),
    FeatureGate::of("InPlacePodVerticalScaling",                     [On,  Loc, Loc, Loc]),
    FeatureGate::of("InPlacePodVerticalScalingSchedulerPreemption",  [Non, Non, Non, Off]),
    FeatureGate::of("InterPodAffinityHostnameFastPath",              [Non, Non, Non, Off]),
    FeatureGate::of("MatchLabelKeysInPodTopologySpread",             [On,  On,  On,  On]),
    FeatureGate::of("NodeDeclaredFeatures",                          [Non, Off, On,  Loc])
        .read_as(Gate::NodeDeclaredFeatures),
    FeatureGate::of("NodeInclusionPolicyInPodTopologySpread",        [Loc, Loc, Loc, Loc]),
    FeatureGate::of("NominatedNodeNameForExpectation",               [Off, On,  On,  On]),
    FeatureGate::of("OpportunisticBatching",                         [Non, On,  On,  On]),
    FeatureGate::of("PodGroupPreemptionPolicy",                      [Non, Non, Non, Off]),
    FeatureGate::of("PodLevelResources",                             [On,  On,  On,  On]),
    FeatureGate::of("SchedulerAsyncAPICalls",                        [Off, Off, Off, Off]),
    FeatureGate::of("SchedulerAsyncPreemption",                      [On,  On,  On,  On]),
    FeatureGate::of("SchedulerPopFromBackoffQ",                      [On,  On,  On,  On]),
    FeatureGate::of("SchedulerPreQueueingHints",                     [Non, Non, Non, Off]),
    FeatureGate::of("SchedulerQueueingHints",                        [Loc, Loc, Loc, Non]),
    FeatureGate::of("SidecarContainers",                             [Loc, Loc, Loc, Non]),
    FeatureGate::of("StorageCapacityScoring",                        [Off, Off, Off, On])
        .read_as(Gate::StorageCapacityScoring),
    FeatureGate::of("TaintTolerationComparisonOperators",            [Non, Off, Off, Off])
        .read_as(Gate::TaintTolerationComparisonOperators),
    FeatureGate::of("TopologyAwareWorkloadScheduling",               [Non, Non, Off, Off]),
    FeatureGate::of("VolumeAttributesClass",                         [On,  On,  Loc, Loc]),
    FeatureGate::of("VolumeLimitScaling",                            [Non, Off, Off, On])
        .read_as(Gate::VolumeLimitScaling),
    FeatureGate::of("WorkloadAwarePreemption",                       [Non, Non, Off, Non]),
];
