"""What each built-in does, by its name in the engine's table, with a rule that has it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kpolicy.policy.reference.texts import Text

# Where kube-scheduler has a built-in no more: in which releases it had it.
RELEASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
            "kube-scheduler until 1.33",
        ),
        **dict.fromkeys(
            (
                "NodeLabel",
                "ServiceAffinity",
                "NodePreferAvoidPods",
                "NodeResourcesLeastAllocated",
                "NodeResourcesMostAllocated",
                "RequestedToCapacityRatio",
            ),
            "kube-scheduler until 1.22",
        ),
        "SelectorSpread": "kube-scheduler until 1.20",
        "ResourceLimits": "kube-scheduler 1.9 to 1.18",
        "EqualPriority": "kube-scheduler until 1.16",
        "SharedGpus": "kpolicy's own",
    }
)


def _predicate(rule: str) -> str:
    return f"predicates:\n  - {{{rule}}}"


def _priority(rule: str) -> str:
    return f"priorities:\n  - {{{rule}}}"


def _limit(volumes: str, name: str) -> Text:
    return Text(
        f"Rejects nodes that would have more {volumes} than they can take.",
        _predicate(f"builtin: {name}"),
    )


BUILTINS: Final[Mapping[str, Text]] = MappingProxyType(
    {
        "NodeUnschedulable": Text(
            "Rejects cordoned nodes, unless the pod tolerates the taint of cordoned nodes.",
            _predicate("builtin: NodeUnschedulable"),
        ),
        "NodeName": Text(
            "Rejects all nodes but the one that the pod's `spec.nodeName` names.",
            _predicate("builtin: NodeName"),
        ),
        "TaintToleration": Text(
            "Rejects nodes with taints that the pod does not tolerate; scores nodes with fewer "
            "untolerated `PreferNoSchedule` taints higher.",
            _priority("builtin: TaintToleration, weight: 3"),
        ),
        "NodeAffinity": Text(
            "Keeps to the pod's `nodeSelector` and required node affinity; scores nodes by its "
            "preferred terms.",
            _priority("builtin: NodeAffinity, weight: 2"),
        ),
        "NodePorts": Text(
            "Rejects nodes on which a host port of the pod is in use.",
            _predicate("builtin: NodePorts"),
        ),
        "NodeResourcesFit": Text(
            "Rejects nodes without room for what the pod requests; scores nodes by what is left, "
            "as its strategy says.",
            _priority("builtin: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}"),
        ),
        "VolumeRestrictions": Text(
            "Rejects nodes on which a volume of the pod is used in a way that its kind forbids.",
            _predicate("builtin: VolumeRestrictions"),
        ),
        "EBSLimits": _limit("EBS volumes", "EBSLimits"),
        "GCEPDLimits": _limit("GCE disks", "GCEPDLimits"),
        "NodeVolumeLimits": _limit("volumes of a CSI driver", "NodeVolumeLimits"),
        "AzureDiskLimits": _limit("Azure disks", "AzureDiskLimits"),
        "CinderLimits": _limit("Cinder volumes", "CinderLimits"),
        "VolumeBinding": Text(
            "Rejects nodes on which the pod's claims cannot be bound; scores how full storage "
            "becomes, with the gate StorageCapacityScoring.",
            _predicate("builtin: VolumeBinding, args: {bindTimeoutSeconds: 600}"),
        ),
        "VolumeZone": Text(
            "Rejects nodes in other zones than the pod's volumes.",
            _predicate("builtin: VolumeZone"),
        ),
        "PodTopologySpread": Text(
            "Keeps to the pod's `topologySpreadConstraints`; scores nodes that spread its pods "
            "evenly higher.",
            _priority("builtin: PodTopologySpread, weight: 2"),
        ),
        "InterPodAffinity": Text(
            "Keeps to required affinity and anti-affinity between pods; scores nodes by preferred "
            "terms.",
            _priority("builtin: InterPodAffinity, args: {hardPodAffinityWeight: 10}"),
        ),
        "DynamicResources": Text(
            "Rejects nodes on which the devices that the pod claims cannot be allocated; scores "
            "nodes higher that take early alternatives of a claim.",
            _predicate("builtin: DynamicResources"),
        ),
        "NodeResourcesBalancedAllocation": Text(
            "Scores nodes higher on which the pod makes the used parts of resources more equal.",
            _priority("builtin: NodeResourcesBalancedAllocation"),
        ),
        "ImageLocality": Text(
            "Scores nodes higher that have images of the pod already, by their size.",
            _priority("builtin: ImageLocality"),
        ),
        "NodeDeclaredFeatures": Text(
            "Rejects nodes that do not declare a feature that the pod needs, with the gate "
            "NodeDeclaredFeatures.",
            _predicate("builtin: NodeDeclaredFeatures"),
        ),
        "NodeLabel": Text(
            "Rejects or scores nodes by whether labels are there, whatever their values.",
            _predicate("builtin: NodeLabel, args: {presentLabels: [disk]}"),
        ),
        "ServiceAffinity": Text(
            "Keeps the pods of a service on nodes with equal labels, or spreads them.",
            _predicate("builtin: ServiceAffinity, args: {affinityLabels: [region]}"),
        ),
        "SelectorSpread": Text(
            "Scores nodes and zones higher that have fewer pods of the pod's services and owners.",
            _priority("builtin: SelectorSpread"),
        ),
        "NodePreferAvoidPods": Text(
            "Scores nodes 0 that ask, by an annotation, for no pods of the pod's controller.",
            _priority("builtin: NodePreferAvoidPods, weight: 10000"),
        ),
        "NodeResourcesLeastAllocated": Text(
            "Scores nodes higher that have more of the resources left.",
            _priority("builtin: NodeResourcesLeastAllocated"),
        ),
        "NodeResourcesMostAllocated": Text(
            "Scores nodes higher that have less of the resources left.",
            _priority("builtin: NodeResourcesMostAllocated"),
        ),
        "RequestedToCapacityRatio": Text(
            "Scores nodes by a curve from the used part of resources to scores.",
            _priority(
                "builtin: RequestedToCapacityRatio, args: {shape: [{utilization: 0, score: 0}, "
                "{utilization: 100, score: 10}]}"
            ),
        ),
        "ResourceLimits": Text(
            "Scores a point for nodes that have room for the pod's limits of cpu or memory.",
            _priority("builtin: ResourceLimits"),
        ),
        "EqualPriority": Text(
            "Scores a point for every node.",
            _priority("builtin: EqualPriority"),
        ),
        "SharedGpus": Text(
            "Rejects nodes whose GPUs have not enough left for what the pod's annotations ask for, "
            "and chooses the devices; scores nodes higher where less of what is idle becomes of no "
            "use to the pods that are often asked for.",
            _predicate("builtin: SharedGpus, args: {devices: BestFit}"),
        ),
    }
)
