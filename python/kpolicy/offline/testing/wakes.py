"""What would wake a parked pod, in words of a test.

Owns the words and which events of the engine each stands for. Assumes events by their names in
kube-scheduler's metrics, as `kpolicy explain` gives them. Must not know what a rule reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_BY_WORD: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("NodeAdd", "NodeUpdate", "NodeDelete"),
    "node.labels": ("NodeUpdateNodeLabel",),
    "node.annotations": ("NodeUpdateNodeAnnotation",),
    "node.taints": ("NodeUpdateNodeTaint",),
    "node.conditions": ("NodeUpdateNodeCondition",),
    "node.allocatable": ("NodeUpdateNodeAllocatable",),
    "node.declaredFeatures": ("NodeUpdateNodeDeclaredFeature",),
    # Room comes from pods that leave or shrink, and from nodes that grow.
    "node.free": (
        "AssignedPodDelete",
        "AssignedPodUpdatePodScaleDown",
        "NodeUpdateNodeAllocatable",
    ),
    "node.pods": ("AssignedPodAdd", "AssignedPodDelete", "AssignedPodUpdatePodLabel"),
    "pod": ("UnschedulablePodUpdate", "AssignedPodUpdate"),
    "pod.labels": ("UnschedulablePodUpdatePodLabel", "AssignedPodUpdatePodLabel"),
    "pod.requests": ("UnschedulablePodUpdatePodScaleDown", "AssignedPodUpdatePodScaleDown"),
    "pod.tolerations": (
        "UnschedulablePodUpdatePodToleration",
        "AssignedPodUpdatePodToleration",
    ),
    "pod.schedulingGates": ("UnschedulablePodUpdatePodSchedulingGatesEliminated",),
}
_ACTIONS: Final = ("Add", "Update", "Delete")
_OBJECTS: Final = {
    "namespace": "Namespace",
    "service": "Service",
    "replicationController": "ReplicationController",
    "replicaSet": "apps/ReplicaSet",
    "statefulSet": "apps/StatefulSet",
    "persistentVolume": "PersistentVolume",
    "persistentVolumeClaim": "PersistentVolumeClaim",
    "storageClass": "storage.k8s.io/StorageClass",
    "csiNode": "storage.k8s.io/CSINode",
    "csiDriver": "storage.k8s.io/CSIDriver",
    "csiStorageCapacity": "storage.k8s.io/CSIStorageCapacity",
    "volumeAttachment": "storage.k8s.io/VolumeAttachment",
    "podDisruptionBudget": "policy/PodDisruptionBudget",
}
EVENTS: Final[Mapping[str, frozenset[str]]] = {
    **{word: frozenset(events) for word, events in _BY_WORD.items()},
    **{
        word: frozenset(f"{kind}{action}" for action in _ACTIONS) for word, kind in _OBJECTS.items()
    },
}


def words(waits_for: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Of what `kpolicy explain` says that a pod waits for."""
    events = {event for rule in waits_for for event in rule["events"]}
    return tuple(word for word, wanted in EVENTS.items() if wanted & events)
