"""The API kinds that the engine reads. Written by `make generated`."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class ObjectKind(NamedTuple):
    name: str
    resource: str
    group: str
    version: str
    namespaced: bool
    # With the same fields, newest first, for servers that do not have `version`.
    older_versions: tuple[str, ...] = ()


OBJECT_KINDS: Final[tuple[ObjectKind, ...]] = (
    ObjectKind("Pod", "pods", "", "v1", True),
    ObjectKind("Node", "nodes", "", "v1", False),
    ObjectKind("Namespace", "namespaces", "", "v1", False),
    ObjectKind("Service", "services", "", "v1", True),
    ObjectKind("ReplicationController", "replicationcontrollers", "", "v1", True),
    ObjectKind("ReplicaSet", "replicasets", "apps", "v1", True),
    ObjectKind("StatefulSet", "statefulsets", "apps", "v1", True),
    ObjectKind("PersistentVolume", "persistentvolumes", "", "v1", False),
    ObjectKind("PersistentVolumeClaim", "persistentvolumeclaims", "", "v1", True),
    ObjectKind("StorageClass", "storageclasses", "storage.k8s.io", "v1", False),
    ObjectKind("CSINode", "csinodes", "storage.k8s.io", "v1", False),
    ObjectKind("CSIDriver", "csidrivers", "storage.k8s.io", "v1", False),
    ObjectKind("CSIStorageCapacity", "csistoragecapacities", "storage.k8s.io", "v1", True),
    ObjectKind("VolumeAttachment", "volumeattachments", "storage.k8s.io", "v1", False),
    ObjectKind("PodDisruptionBudget", "poddisruptionbudgets", "policy", "v1", True),
    ObjectKind("DeviceClass", "deviceclasses", "resource.k8s.io", "v1", False),
    ObjectKind("ResourceSlice", "resourceslices", "resource.k8s.io", "v1", False),
    ObjectKind("ResourceClaim", "resourceclaims", "resource.k8s.io", "v1", True),
    ObjectKind("ResourceClaimTemplate", "resourceclaimtemplates", "resource.k8s.io", "v1", True),
    ObjectKind(
        "DeviceTaintRule",
        "devicetaintrules",
        "resource.k8s.io",
        "v1",
        False,
        ("v1beta2", "v1alpha3"),
    ),
)

# The kinds in tests of policies: what a parked pod waits for. Pods and nodes have words in parts.
KindWord = Literal[
    "namespace",
    "service",
    "replicationController",
    "replicaSet",
    "statefulSet",
    "persistentVolume",
    "persistentVolumeClaim",
    "storageClass",
    "csiNode",
    "csiDriver",
    "csiStorageCapacity",
    "volumeAttachment",
    "podDisruptionBudget",
    "deviceClass",
    "resourceSlice",
    "resourceClaim",
    "resourceClaimTemplate",
    "deviceTaintRule",
]
