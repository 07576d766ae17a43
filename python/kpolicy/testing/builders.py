"""Builders of API objects as dicts, with the fields that a test names and no others.

What API servers add is added by whoever takes the objects. Pure functions: two results never share
a mutable part.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]
Taint = Mapping[str, Any] | str
Toleration = Mapping[str, Any]

EPHEMERAL_STORAGE = "100Gi"
KUBELET_VERSION = "v1.37.0"
IMAGE = "registry.k8s.io/pause:3.10"


def node(
    name: str,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    *,
    taints: Sequence[Taint] = (),
    unschedulable: bool = False,
    annotations: Mapping[str, str] | None = None,
    resources: Mapping[str, str] | None = None,
) -> Object:
    """Make a ready node. A taint is an object, or text as in kubectl: `key=value:Effect`.

    `resources` adds to the node's resources or replaces them by name: `{"nvidia.com/gpu": "8"}`.
    """
    usual_labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }
    metadata: Object = {"name": name, "labels": {**usual_labels, **(labels or {})}}
    if annotations:
        metadata["annotations"] = dict(annotations)
    spec: Object = {}
    if taints:
        spec["taints"] = [_taint(taint) for taint in taints]
    if unschedulable:
        spec["unschedulable"] = True
    amounts = {
        "cpu": cpu,
        "memory": memory,
        "pods": str(pods),
        "ephemeral-storage": EPHEMERAL_STORAGE,
        **(resources or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": {
            "capacity": dict(amounts),
            "allocatable": dict(amounts),
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "kubelet is posting ready status",
                }
            ],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kernelVersion": "6.12.0",
                "osImage": "Linux",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kubeletVersion": KUBELET_VERSION,
                "kubeProxyVersion": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        },
    }


def pod(
    name: str,
    namespace: str = "default",
    cpu: str | None = None,
    memory: str | None = None,
    scheduler_name: str = "kpolicy",
    *,
    labels: Mapping[str, str] | None = None,
    tolerations: Sequence[Toleration] = (),
    priority: int | None = None,
    node_selector: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    resources: Mapping[str, str] | None = None,
    affinity: Mapping[str, Any] | None = None,
    spread: Sequence[Mapping[str, Any]] = (),
    scheduling_gates: Sequence[str] = (),
    priority_class: str | None = None,
    node_name: str | None = None,
    image: str = IMAGE,
) -> Object:
    """Make a pod with one container that requests `cpu`, `memory` and `resources`.

    `priority` is the number itself. A real API server accepts it only from a priority class
    (`priority_class`); the embedded control plane accepts both.
    """
    metadata: Object = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    requests = {
        resource: amount
        for resource, amount in {"cpu": cpu, "memory": memory, **(resources or {})}.items()
        if amount is not None
    }
    container: Object = {"name": "main", "image": image}
    if requests:
        container["resources"] = {"requests": requests}
    optional: Object = {
        "priority": priority,
        "priorityClassName": priority_class,
        "nodeName": node_name,
        "nodeSelector": dict(node_selector) if node_selector else None,
        "tolerations": [dict(toleration) for toleration in tolerations] or None,
        "affinity": copy.deepcopy(dict(affinity)) if affinity else None,
        "topologySpreadConstraints": copy.deepcopy([dict(constraint) for constraint in spread])
        or None,
        "schedulingGates": [{"name": gate} for gate in scheduling_gates] or None,
    }
    spec: Object = {"schedulerName": scheduler_name, "containers": [container]}
    spec.update({field: value for field, value in optional.items() if value is not None})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _taint(taint: Taint) -> Object:
    if not isinstance(taint, str):
        return dict(taint)
    named, _, effect = taint.rpartition(":")
    key, _, value = named.partition("=")
    if not key or not effect:
        raise ValueError(f"a taint reads key=value:Effect or key:Effect, not {taint!r}")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}
