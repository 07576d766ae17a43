"""Kinds of objects that the engine reads, and how objects are named.

A test compares the table of kinds with what the engine accepts.
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
# The scheduler of a pod without `schedulerName`.
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
    return str(mapping_at(item, "metadata").get("name") or "")


def key_of(item: Mapping[str, Any]) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    if item.get("kind") in CLUSTER_SCOPED:
        return name_of(item)
    return f"{mapping_at(item, 'metadata').get('namespace') or 'default'}/{name_of(item)}"


def uid_of(item: Mapping[str, Any]) -> str:
    """The name under which the engine holds it."""
    return str(mapping_at(item, "metadata").get("uid") or key_of(item))


def mapping_at(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in this field; empty if the field has another form."""
    part = holder.get(name)
    return part if isinstance(part, dict) else {}
