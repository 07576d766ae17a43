"""The names of the legacy Policy: what each predicate and priority stands for, as tables.

Covers every name that a release of kube-scheduler registered, the default sets, and the order in
which predicates ran. A name has the meaning that its documentation gave it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

from kpolicy.policy.yaml.nodes import Plain
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """One rule that a legacy name stands for: a built-in, or an expression."""

    builtin: str = ""
    expression: str = ""
    message: str = ""
    message_expression: str = ""
    args: dict[str, Plain] = field(default_factory=dict)


def _condition(name: str, healthy: str) -> str:
    return f"(!('{name}' in node.conditions) || node.conditions['{name}'] == '{healthy}')"


_GENERAL: Final = ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity")
_NO_DEFAULT_SPREAD: Final[dict[str, Plain]] = {"defaultingType": "List", "defaultConstraints": []}

_MEMORY_PRESSURE: Final = Meaning(
    expression=f"pod.qosClass != 'BestEffort' || {_condition('MemoryPressure', 'False')}",
    message="node(s) had memory pressure",
)
_DISK_PRESSURE: Final = Meaning(
    expression=_condition("DiskPressure", "False"), message="node(s) had disk pressure"
)
_PID_PRESSURE: Final = Meaning(
    expression=_condition("PIDPressure", "False"), message="node(s) had pid pressure"
)
NODE_CONDITION: Final = Meaning(
    expression=" && ".join(
        (
            _condition("Ready", "True"),
            _condition("OutOfDisk", "False"),
            _condition("NetworkUnavailable", "False"),
        )
    ),
    message="node(s) were not ready",
    message_expression=(
        f"!{_condition('Ready', 'True')} ? 'node(s) were not ready' : "
        f"!{_condition('OutOfDisk', 'False')} ? 'node(s) were out of disk space' : "
        "'node(s) had unavailable network'"
    ),
)

PREDICATES: Final[dict[str, tuple[Meaning, ...]]] = {
    "PodFitsPorts": (Meaning("NodePorts"),),
    "PodFitsHostPorts": (Meaning("NodePorts"),),
    "PodFitsResources": (Meaning("NodeResourcesFit"),),
    "HostName": (Meaning("NodeName"),),
    "MatchNodeSelector": (Meaning("NodeAffinity"),),
    "GeneralPredicates": tuple(Meaning(name) for name in _GENERAL),
    "NoDiskConflict": (Meaning("VolumeRestrictions"),),
    "NoVolumeZoneConflict": (Meaning("VolumeZone"),),
    "MaxEBSVolumeCount": (Meaning("EBSLimits"),),
    "MaxGCEPDVolumeCount": (Meaning("GCEPDLimits"),),
    "MaxAzureDiskVolumeCount": (Meaning("AzureDiskLimits"),),
    "MaxCSIVolumeCountPred": (Meaning("NodeVolumeLimits"),),
    "MaxCinderVolumeCount": (Meaning("CinderLimits"),),
    "NoVolumeNodeConflict": (Meaning("VolumeBinding"),),
    "CheckVolumeBinding": (Meaning("VolumeBinding"),),
    "MatchInterPodAffinity": (Meaning("InterPodAffinity"),),
    "PodToleratesNodeTaints": (Meaning("TaintToleration"),),
    "PodToleratesNodeNoExecuteTaints": (Meaning("TaintToleration"),),
    "CheckNodeUnschedulable": (Meaning("NodeUnschedulable"),),
    "EvenPodsSpread": (Meaning("PodTopologySpread", args=_NO_DEFAULT_SPREAD),),
    "CheckNodeCondition": (NODE_CONDITION,),
    "CheckNodeMemoryPressure": (_MEMORY_PRESSURE,),
    "CheckNodeDiskPressure": (_DISK_PRESSURE,),
    "CheckNodePIDPressure": (_PID_PRESSURE,),
}

# Names that need an argument, although some releases had them in the ordering list.
LABEL_PRESENCE: Final = "CheckNodeLabelPresence"
SERVICE_AFFINITY: Final = "CheckServiceAffinity"

PRIORITIES: Final[dict[str, tuple[Meaning, ...]]] = {
    "LeastRequestedPriority": (Meaning("NodeResourcesLeastAllocated"),),
    "MostRequestedPriority": (Meaning("NodeResourcesMostAllocated"),),
    "BalancedResourceAllocation": (Meaning("NodeResourcesBalancedAllocation"),),
    "SelectorSpreadPriority": (Meaning("SelectorSpread"),),
    "ServiceSpreadingPriority": (Meaning("SelectorSpread", args={"selectors": ["Service"]}),),
    "NodePreferAvoidPodsPriority": (Meaning("NodePreferAvoidPods"),),
    "NodeAffinityPriority": (Meaning("NodeAffinity"),),
    "TaintTolerationPriority": (Meaning("TaintToleration"),),
    "InterPodAffinityPriority": (Meaning("InterPodAffinity"),),
    "ImageLocalityPriority": (Meaning("ImageLocality"),),
    "EvenPodsSpreadPriority": (Meaning("PodTopologySpread", args=_NO_DEFAULT_SPREAD),),
    "RequestedToCapacityRatioPriority": (
        Meaning(
            "RequestedToCapacityRatio",
            args={"shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]},
        ),
    ),
    "ResourceLimitsPriority": (Meaning("ResourceLimits"),),
    # The same score for every node; skipped since 1.17.
    "EqualPriority": (Meaning("EqualPriority"),),
}

# By the rules that predicates become. Releases 1.10 to 1.22 ran them in this order, whatever the
# order of the file.
ORDER: Final = (
    "CheckNodeCondition",
    "NodeUnschedulable",
    "NodeName",
    "NodePorts",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "TaintToleration",
    LABEL_PRESENCE,
    "ServiceAffinity",
    "EBSLimits",
    "GCEPDLimits",
    "NodeVolumeLimits",
    "AzureDiskLimits",
    "CinderLimits",
    "VolumeBinding",
    "VolumeZone",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
    "CheckNodeDiskPressure",
    "PodTopologySpread",
    "InterPodAffinity",
)
# With GeneralPredicates, its parts run at its place and in its order.
ORDER_GENERAL: Final = (*ORDER[:2], *_GENERAL, *(key for key in ORDER[2:] if key not in _GENERAL))

Minor = int


def default_predicates(minor: Minor) -> tuple[str, ...]:
    """The set that a missing list stands for in release 1.`minor`."""
    by_minor = {
        "CheckNodeMemoryPressure": minor <= 11,
        "CheckNodeDiskPressure": minor <= 11,
        "CheckNodeCondition": minor <= 11,
        "CheckNodePIDPressure": minor == 11,
        "MaxCSIVolumeCountPred": minor >= 12,
        "CheckNodeUnschedulable": minor >= 12,
        "EvenPodsSpread": minor >= 18,
    }
    return (
        "NoVolumeZoneConflict",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxAzureDiskVolumeCount",
        "MatchInterPodAffinity",
        "NoDiskConflict",
        "GeneralPredicates",
        "PodToleratesNodeTaints",
        "CheckVolumeBinding",
        *(name for name, is_default in by_minor.items() if is_default),
    )


def default_priorities(minor: Minor) -> dict[str, int]:
    """The set and the weights that a missing list stands for in release 1.`minor`."""
    weights = {
        "SelectorSpreadPriority": 1,
        "InterPodAffinityPriority": 1,
        "LeastRequestedPriority": 1,
        "BalancedResourceAllocation": 1,
        "NodePreferAvoidPodsPriority": 10_000,
        "NodeAffinityPriority": 1,
        "TaintTolerationPriority": 1,
        "ImageLocalityPriority": int(minor >= 12),
        "EvenPodsSpreadPriority": (minor >= 18) + (minor >= 19),
    }
    return {name: weight for name, weight in weights.items() if weight}
