"""Texts of API objects with gaps for what differs.

Owns the gaps and the objects: nodes, pods and volumes as an API server gives them, status and
defaults included. Must not know how many there are. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from kpolicy.offline.bench.workloads import DISK, HOSTNAME, INSTANCE_TYPE, WORKLOADS, ZONE

NAMESPACE: Final = "default"
STORAGE_CLASS: Final = "zonal"
_CREATED: Final = "2026-01-01T00:00:00Z"
_IMAGE: Final = "registry.example.com/app:1"
# What stands in an object where a gap is, and how the gap is filled.
_GAPS: Final[Mapping[str, str]] = {
    "@index@": "%(index)06d",
    "@uid@": "%(index)012d",
    "@node@": "%(node)06d",
    "@zone@": "%(zone)d",
    "@disk@": "%(disk)s",
    "@type@": "%(type)d",
    "@milli@": "%(milli)dm",
    "@mebi@": "%(mebi)dMi",
}

Json = dict[str, Any]


def _template(item: Mapping[str, Any]) -> str:
    """To be filled with `%`."""
    text = json.dumps(item, separators=(",", ":")).replace("%", "%%")
    for mark, gap in _GAPS.items():
        text = text.replace(mark, gap)
    return text


def uid(index: int) -> str:
    """Of a pod that waits, as its template has it."""
    return f"00000000-0000-4000-8000-{index:012d}"


@cache
def node() -> str:
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return _template(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "node-@index@",
                "uid": "00000000-0000-4000-8001-@uid@",
                "creationTimestamp": _CREATED,
                "labels": {
                    HOSTNAME: "node-@index@",
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/os": "linux",
                    ZONE: "zone-@zone@",
                    DISK: "@disk@",
                    INSTANCE_TYPE: "type-@type@",
                },
            },
            "spec": {},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux"},
            },
        }
    )


@cache
def existing_pod(app: str) -> str:
    return _template(_pod("existing-@index@", "00000000-0000-4000-8002-@uid@", app, on_node=True))


@cache
def waiting_pod(workload: str, app: str, *, on_node: bool = False) -> str:
    """`on_node` as it is once it is bound."""
    kind = WORKLOADS[workload]
    item = _pod("pod-@index@", "00000000-0000-4000-8000-@uid@", app, on_node=on_node)
    item["spec"] |= {"priority": kind.priority, **kind.spec(app)}
    if kind.has_volumes:
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "claim-@index@"}}
        item["spec"]["volumes"].append(claim)
    return _template(item)


@cache
def bound_volume() -> str:
    """A volume of one zone and the claim it is bound to."""
    name, claim = "volume-@index@", "claim-@index@"
    in_zone = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-@zone@"]}]}]
    size = {"storage": "10Gi"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": "00000000-0000-4000-8003-@uid@"},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": STORAGE_CLASS,
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "claimRef": {"namespace": NAMESPACE, "name": claim, "uid": _claim_uid()},
            "nodeAffinity": {"required": {"nodeSelectorTerms": in_zone}},
        },
        "status": {"phase": "Bound"},
    }
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim,
            "namespace": NAMESPACE,
            "uid": _claim_uid(),
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size},
            "storageClassName": STORAGE_CLASS,
            "volumeName": name,
        },
        "status": {"phase": "Bound"},
    }
    return f"{_template(volume)}\n{_template(bound)}"


def fixed_objects() -> list[str]:
    """What is there once."""
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    return [json.dumps(namespace), json.dumps(storage_class)]


def _claim_uid() -> str:
    return "00000000-0000-4000-8004-@uid@"


def _pod(name: str, uid: str, app: str, *, on_node: bool) -> Json:
    container = {
        "name": "app",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "@milli@", "memory": "@mebi@"}},
    }
    spec: Json = {
        "schedulerName": "default-scheduler",
        "restartPolicy": "Always",
        "serviceAccountName": "default",
        "priority": 0,
        "containers": [container],
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
        "volumes": [{"name": "token", "projected": {"sources": []}}],
    }
    if on_node:
        spec["nodeName"] = "node-@node@"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid,
            "creationTimestamp": _CREATED,
            "labels": {"app": app},
        },
        "spec": spec,
        "status": {"phase": "Running" if on_node else "Pending"},
    }
