"""Nodes with GPUs and pods that ask for them, as traces have them, and as API objects.

A pod asks with annotations, as the engine's built-in `SharedGpus` reads them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kpolicy.quick_dataclass import dataclass

# A whole device, in the thousandths that pods ask for.
WHOLE: Final = 1000
_DOMAIN: Final = "alibabacloud.com"
COUNT: Final = f"{_DOMAIN}/gpu-count"
MILLI: Final = f"{_DOMAIN}/gpu-milli"
MODEL: Final = f"{_DOMAIN}/gpu-card-model"
INDEX: Final = f"{_DOMAIN}/gpu-index"
NAMESPACE: Final = "trace"
# More pods than a trace puts on one node: a trace has no limit of pods.
_PODS_MAX: Final = 10_000

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TraceNode:
    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class TracePod:
    """`gpu_milli` is of each of its `gpus`. `models`: those that will do; empty for any."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    models: tuple[str, ...] = ()

    @property
    def demand_milli(self) -> int:
        return self.gpus * self.gpu_milli


@dataclass(frozen=True, slots=True)
class Trace:
    name: str
    nodes: tuple[TraceNode, ...]
    pods: tuple[TracePod, ...]

    @property
    def capacity_milli(self) -> int:
        return WHOLE * sum(node.gpus for node in self.nodes)


def names_in_mixed_order(nodes: Sequence[TraceNode]) -> list[str]:
    """Names by which nodes stand in an order that has nothing to do with their kind. A trace often
    lists nodes by their kind, and a policy that breaks ties by name would prefer one."""
    hashed = (hashlib.sha256(node.name.encode()).hexdigest() for node in nodes)
    return [f"{key[:8]}-{node.name}" for key, node in zip(hashed, nodes, strict=True)]


def node_objects(trace: Trace, names: Sequence[str]) -> Iterator[Json]:
    for node, name in zip(trace.nodes, names, strict=True):
        labels = {"kubernetes.io/hostname": name, **({MODEL: node.model} if node.model else {})}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {
                "allocatable": {
                    "cpu": f"{node.cpu_milli}m",
                    "memory": f"{node.memory_mib}Mi",
                    "pods": str(_PODS_MAX),
                    **({COUNT: str(node.gpus)} if node.gpus else {}),
                }
            },
        }


def pod_object(pod: TracePod, uid: str) -> Json:
    """A pod that preempts nobody: in a trace of one priority there is nobody to preempt."""
    annotations: dict[str, str] = {}
    if pod.gpus:
        annotations = {COUNT: str(pod.gpus), MILLI: str(pod.gpu_milli)}
    if pod.models:
        annotations[MODEL] = "|".join(pod.models)
    requests = {"cpu": f"{pod.cpu_milli}m", "memory": f"{pod.memory_mib}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{uid}",
            "namespace": NAMESPACE,
            "uid": uid,
            "annotations": annotations,
        },
        "spec": {
            "schedulerName": "kpolicy",
            "preemptionPolicy": "Never",
            "containers": [{"name": "main", "image": "", "resources": {"requests": requests}}],
        },
    }
