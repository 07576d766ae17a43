"""The releases that the engine follows, and their gates. Written by `make generated`."""

from __future__ import annotations

from typing import Final, NamedTuple


class ReleaseNames(NamedTuple):
    """Names in metrics that depend on the release: of the events that a pod was added and that its
    last scheduling gate is gone, and of metrics that not every release has."""

    pod_added: str
    gates_gone: str
    metrics: tuple[str, ...]


# Oldest first.
RELEASE_NAMES: Final[dict[str, ReleaseNames]] = {
    "1.34": ReleaseNames(
        "UnschedulablePodAdd",
        "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        (),
    ),
    "1.35": ReleaseNames(
        "UnschedulablePodAdd",
        "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        (),
    ),
    "1.36": ReleaseNames(
        "UnschedulablePodAdd",
        "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        (),
    ),
    "1.37": ReleaseNames(
        "UnscheduledPodAdd",
        "TargetPodUpdatePodSchedulingGatesEliminated",
        ("scheduler_queue_incoming_entities_total", "scheduler_queued_entities"),
    ),
}
RELEASES: Final = tuple(RELEASE_NAMES)

# Name, what each release makes of it (absent, off, on or locked), whether decisions depend on it.
FEATURE_GATES: Final[tuple[tuple[str, tuple[str, ...], bool], ...]] = (
    ("CSIMigrationPortworx", ("locked", "locked", "absent", "absent"), False),
    ("ClearingNominatedNodeNameAfterBinding", ("off", "on", "on", "on"), False),
    ("CompositePodGroup", ("absent", "absent", "absent", "off"), False),
    ("DRAAdminAccess", ("on", "on", "locked", "locked"), True),
    ("DRAConsumableCapacity", ("off", "off", "on", "on"), True),
    ("DRADerivedAttributes", ("absent", "absent", "absent", "off"), False),
    ("DRADeviceBindingConditions", ("off", "off", "on", "on"), True),
    ("DRADeviceCompatibilityGroups", ("absent", "absent", "absent", "off"), False),
    ("DRADeviceTaintRules", ("absent", "off", "off", "on"), True),
    ("DRADeviceTaints", ("off", "off", "on", "on"), True),
    ("DRAExtendedResource", ("off", "off", "on", "locked"), True),
    ("DRAFractionalCapacityRange", ("absent", "absent", "absent", "on"), True),
    ("DRAListTypeAttributes", ("absent", "absent", "off", "off"), False),
    ("DRANodeAllocatableResources", ("absent", "absent", "off", "off"), False),
    ("DRAOptionalNodeOperations", ("absent", "absent", "absent", "off"), False),
    ("DRAPartitionableDevices", ("off", "off", "on", "on"), True),
    ("DRAPartitionableDevicesType", ("absent", "absent", "absent", "off"), False),
    ("DRAPrioritizedList", ("on", "on", "on", "locked"), True),
    ("DRAResourceClaimDeviceStatus", ("on", "on", "on", "locked"), True),
    ("DRASchedulerFilterTimeout", ("on", "on", "on", "on"), False),
    ("DRAWorkloadResourceClaims", ("absent", "absent", "off", "off"), False),
    ("DynamicResourceAllocation", ("on", "locked", "locked", "locked"), False),
    ("GangScheduling", ("absent", "off", "off", "absent"), False),
    ("GenericWorkload", ("absent", "off", "off", "off"), False),
    ("ImageVolume", ("off", "on", "locked", "locked"), False),
    ("InPlacePodLevelResourcesVerticalScaling", ("absent", "off", "on", "on"), False),
    ("InPlacePodVerticalScaling", ("on", "locked", "locked", "locked"), False),
    ("InPlacePodVerticalScalingSchedulerPreemption", ("absent", "absent", "absent", "off"), False),
    ("InterPodAffinityHostnameFastPath", ("absent", "absent", "absent", "off"), False),
    ("MatchLabelKeysInPodTopologySpread", ("on", "on", "on", "on"), False),
    ("NodeDeclaredFeatures", ("absent", "off", "on", "locked"), True),
    ("NodeInclusionPolicyInPodTopologySpread", ("locked", "locked", "locked", "locked"), False),
    ("NominatedNodeNameForExpectation", ("off", "on", "on", "on"), False),
    ("OpportunisticBatching", ("absent", "on", "on", "on"), False),
    ("PodGroupPreemptionPolicy", ("absent", "absent", "absent", "off"), False),
    ("PodLevelResources", ("on", "on", "on", "on"), False),
    ("SchedulerAsyncAPICalls", ("off", "off", "off", "off"), False),
    ("SchedulerAsyncPreemption", ("on", "on", "on", "on"), False),
    ("SchedulerPopFromBackoffQ", ("on", "on", "on", "on"), False),
    ("SchedulerPreQueueingHints", ("absent", "absent", "absent", "off"), False),
    ("SchedulerQueueingHints", ("locked", "locked", "locked", "absent"), False),
    ("SidecarContainers", ("locked", "locked", "locked", "absent"), False),
    ("StorageCapacityScoring", ("off", "off", "off", "on"), True),
    ("TaintTolerationComparisonOperators", ("absent", "off", "off", "off"), True),
    ("TopologyAwareWorkloadScheduling", ("absent", "absent", "off", "off"), False),
    ("VolumeAttributesClass", ("on", "on", "locked", "locked"), False),
    ("VolumeLimitScaling", ("absent", "off", "off", "on"), True),
    ("WorkloadAwarePreemption", ("absent", "absent", "off", "absent"), False),
)
