"""Bodies of the objects that tests create: nodes and pods, as a kubelet or a user writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]
LONG_AGO = "2026-01-01T00:00:00Z"


def node(
    name: str,
    *,
    cpu: str = "32",
    memory: str = "128Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    resources: Mapping[str, str] | None = None,
    ready: bool = True,
) -> Json:
    """A node that is ready; `resources` adds extended ones or overrides the three."""
    capacity = {
        "cpu": cpu,
        "memory": memory,
        "ephemeral-storage": "500Gi",
        "pods": str(pods),
        **(resources or {}),
    }
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "KubeletReady" if ready else "KubeletNotReady",
        "message": "written by the test",
        "lastHeartbeatTime": LONG_AGO,
        "lastTransitionTime": LONG_AGO,
    }
    spec: Json = {"taints": [dict(taint) for taint in taints]} if taints else {}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [condition]},
    }


def pod(
    name: str,
    *,
    namespace: str = "default",
    scheduler_name: str | None = None,
    cpu: str | None = "100m",
    memory: str | None = "256Mi",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A pod with one container; `spec` is laid over the pod's spec, key by key."""
    asked = {"cpu": cpu, "memory": memory}
    requests = {resource: amount for resource, amount in asked.items() if amount is not None}
    container = {"name": "main", "image": "none", "resources": {"requests": requests}}
    base: Json = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if scheduler_name is not None:
        base["schedulerName"] = scheduler_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {**base, **(spec or {})},
    }


def binding(namespace: str, pod_name: str, node_name: str, uid: str | None = None) -> Json:
    """With a uid, the API server refuses the bind of another pod of that name."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": pod_name,
            "namespace": namespace,
            **({} if uid is None else {"uid": uid}),
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
    }
