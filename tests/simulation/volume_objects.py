"""Bodies of storage classes, volumes and claims in the simulated world, and which node reaches a
volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Json = dict[str, Any]
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "disks.example.com"
LOCAL, MADE = "local", "made"
SIZES: Final = ("1Gi", "5Gi")


def storage_class(name: str) -> Json:
    provisioner = PROVISIONER if name == MADE else "kubernetes.io/no-provisioner"
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def volume(
    name: str,
    node: str,
    size: str,
    *,
    of_class: str = LOCAL,
    claim: Mapping[str, str] | None = None,
) -> Json:
    """A volume that only this node reaches. `claim`: the volume was provisioned for this claim."""
    selected = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    spec: Json = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of_class,
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": PROVISIONER, "volumeHandle": name},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [selected]}]}},
    }
    metadata: Json = {"name": name}
    if claim is not None:
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claim}
        metadata["annotations"] = {PROVISIONED_BY: PROVISIONER}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def claim(name: str, of_class: str, size: str) -> Json:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of_class,
        "resources": {"requests": {"storage": size}},
    }
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def using(body: Json, names: Sequence[str]) -> Json:
    """The pod with these claims added."""
    body["spec"]["volumes"] = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
        for number, name in enumerate(names)
    ]
    return body
