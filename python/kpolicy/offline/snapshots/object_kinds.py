"""Kinds of objects that the engine reads, by API group.

Owns the table in Python's words; a test compares it with what the engine takes. Must not know what
is read of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

READ: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(
        {
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ReplicationController",
            "Service",
        }
    ),
    "apps": frozenset({"ReplicaSet", "StatefulSet"}),
    "extensions": frozenset({"ReplicaSet", "StatefulSet"}),  # read as apps, as the engine does
    "policy": frozenset({"PodDisruptionBudget"}),
    "storage.k8s.io": frozenset(
        {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"}
    ),
}
CLUSTER_SCOPED: Final = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "Namespace",
        "Node",
        "PersistentVolume",
        "StorageClass",
        "VolumeAttachment",
    }
)
# The scheduler of a pod that names none.
DEFAULT_SCHEDULER: Final = "default-scheduler"
_EVERY: Final = frozenset[str]().union(*READ.values())


def is_read(item: Mapping[str, Any]) -> bool:
    """Without an `apiVersion` the name alone decides."""
    kind, version = str(item.get("kind") or ""), str(item.get("apiVersion") or "")
    if not version:
        return kind in _EVERY
    group, slash, _ = version.partition("/")
    return kind in READ.get(group if slash else "", frozenset())


def name_of(item: Mapping[str, Any]) -> str:
    return str(_metadata(item).get("name") or "")


def key_of(item: Mapping[str, Any]) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    if item.get("kind") in CLUSTER_SCOPED:
        return name_of(item)
    return f"{_metadata(item).get('namespace') or 'default'}/{name_of(item)}"


def uid_of(item: Mapping[str, Any]) -> str:
    """What the engine knows it by."""
    return str(_metadata(item).get("uid") or key_of(item))


def _metadata(item: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = item.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
