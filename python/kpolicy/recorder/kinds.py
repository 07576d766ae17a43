"""What is recorded: the resources that the engine reads, and the kinds of their objects.

Owns that table. Assumes paths and selectors of what the live scheduler watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kpolicy.scheduler.resources import RESOURCES

KINDS: Final[Mapping[str, str]] = {
    "pods": "Pod",
    "nodes": "Node",
    "namespaces": "Namespace",
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "storageclasses": "StorageClass",
    "csinodes": "CSINode",
    "csidrivers": "CSIDriver",
    "csistoragecapacities": "CSIStorageCapacity",
    "volumeattachments": "VolumeAttachment",
    "poddisruptionbudgets": "PodDisruptionBudget",
}
RECORDED: Final = tuple(RESOURCES[name] for name in KINDS)
