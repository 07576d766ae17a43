"""Bodies of storage classes, volumes and claims for tests, and a provisioner that a test controls.
The controller that binds claims to volumes is the real one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.cluster.client import Client, wait_for

Json = dict[str, Any]
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "disks.example.com"
LOCAL, MADE = "local", "made"
VOLUMES = "/api/v1/persistentvolumes"
CONTROLLERS = (
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
)


def create_classes(admin: Client) -> None:
    for name, provisioner in ((LOCAL, "kubernetes.io/no-provisioner"), (MADE, PROVISIONER)):
        admin.create(
            "/apis/storage.k8s.io/v1/storageclasses",
            {
                "metadata": {"name": name},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            },
        )


def on_node(node: str) -> Json:
    """The affinity of a volume that only this node reaches."""
    selected = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [selected]}]}}


def create_volume(
    admin: Client,
    name: str,
    node: str,
    *,
    storage_class: str = LOCAL,
    claim: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Json:
    spec: Json = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": PROVISIONER, "volumeHandle": name},
        "nodeAffinity": on_node(node),
    }
    if claim is not None:
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claim}
    metadata = {"name": name, "annotations": dict(annotations or {})}
    return admin.create(VOLUMES, {"metadata": metadata, "spec": spec})


def wait_available(admin: Client, name: str) -> None:
    """Waits until the controller has seen the volume; the scheduler uses no volume before that."""
    wait_for(
        lambda: admin.get(f"{VOLUMES}/{name}")["status"].get("phase") == "Available",
        f"volume {name} to be available",
    )


def claims(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"


def create_claim(admin: Client, namespace: str, name: str, storage_class: str = LOCAL) -> Json:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return admin.create(claims(namespace), {"metadata": {"name": name}, "spec": spec})


def claimed(*names: str) -> Json:
    """The part of a pod's spec that uses these claims."""
    return {
        "volumes": [
            {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
            for number, name in enumerate(names)
        ]
    }


def selected_node(admin: Client, namespace: str, claim: str, *, timeout_s: float = 30) -> str:
    """The node on which the claim is to be provisioned, as soon as the scheduler says so."""
    path = f"{claims(namespace)}/{claim}"

    def read() -> str:
        annotations = admin.get(path)["metadata"].get("annotations", {})
        return str(annotations.get(SELECTED_NODE, ""))

    return wait_for(read, f"a node for claim {claim}", timeout_s=timeout_s)


def provision(admin: Client, namespace: str, claim: str, node: str) -> None:
    """Creates a volume for this claim, as an external provisioner does."""
    uid = admin.get(f"{claims(namespace)}/{claim}")["metadata"]["uid"]
    create_volume(
        admin,
        f"pvc-{uid}",
        node,
        storage_class=MADE,
        claim={"namespace": namespace, "name": claim, "uid": uid},
        annotations={PROVISIONED_BY: PROVISIONER},
    )


def refuse(admin: Client, namespace: str, claim: str) -> None:
    """Refuses the node, as an external provisioner does; the scheduler must choose again."""
    gone = {"metadata": {"annotations": {SELECTED_NODE: None}}}
    admin.patch(f"{claims(namespace)}/{claim}", gone)


def phases(admin: Client, namespace: str, names: Sequence[str]) -> list[str]:
    return [str(admin.get(f"{claims(namespace)}/{name}")["status"]["phase"]) for name in names]
