"""The demo's cluster: a few hundred nodes and a few thousand pods of several kinds.

The same seed gives the same objects.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kpolicy.testing.builders import node, pod

NAMESPACE = "demo"
KIND_LABEL = "demo.kpolicy.dev/kind"
ZONES = ("a", "b", "c")
GPU = "nvidia.com/gpu"
GPU_TAINT = "nvidia.com/gpu=present:NoSchedule"
GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind; `share` is their part of all nodes, in percent."""

    name: str
    share: int
    cpu: str
    memory: str
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """Pods of one kind; `share` is their part of all pods, in parts of a thousand."""

    name: str
    share: int
    about: str
    cpu: str
    memory: str
    priority: int = 0
    tolerations: tuple[dict[str, str], ...] = ()
    resources: tuple[tuple[str, str], ...] = ()


POOLS = (
    Pool("general", 40, "16", "64Gi", (("disk", "hdd"),)),
    Pool("fast", 25, "16", "64Gi", (("disk", "ssd"),)),
    Pool("spot", 20, "16", "64Gi", (("disk", "hdd"), ("lifecycle", "spot"))),
    Pool("gpu", 10, "32", "128Gi", (("disk", "ssd"),), (GPU_TAINT,), ((GPU, "8"),)),
    Pool("cordoned", 5, "16", "64Gi", (("disk", "ssd"),), cordoned=True),
)

WORKLOADS = (
    Workload("web", 430, "small and many", "200m", "256Mi"),
    Workload("api", 250, "middling", "500m", "1Gi"),
    Workload("batch", 170, "wants memory", "400m", "4Gi"),
    Workload("critical", 100, "priority 2000: the policy keeps it off spot", "500m", "1Gi", 2000),
    Workload(
        "training",
        42,
        "needs a GPU and tolerates the taint",
        "2",
        "8Gi",
        0,
        (GPU_TOLERATION,),
        ((GPU, "1"),),
    ),
    Workload("giant", 5, "asks for more cpu than any node has", "48", "64Gi"),
    Workload(
        "stray-gpu",
        3,
        "needs a GPU but does not tolerate the taint",
        "1",
        "4Gi",
        0,
        (),
        ((GPU, "1"),),
    ),
)


def nodes(count: int) -> Iterator[Object]:
    """Pools by their shares, spread over the zones in turn."""
    numbers = _by_share(count, [pool.share for pool in POOLS])
    for pool, number in zip(POOLS, numbers, strict=True):
        for index in range(number):
            labels = {"pool": pool.name, "topology.kubernetes.io/zone": ZONES[index % len(ZONES)]}
            yield node(
                f"{pool.name}-{index:03}",
                cpu=pool.cpu,
                memory=pool.memory,
                labels=labels | dict(pool.labels),
                taints=pool.taints,
                resources=dict(pool.resources),
                unschedulable=pool.cordoned,
            )


def pods(count: int, seed: int) -> list[Object]:
    """Workloads by their shares, shuffled by the seed as they would arrive."""
    numbers = _by_share(count, [workload.share for workload in WORKLOADS])
    made = [
        pod(
            f"{workload.name}-{index:04}",
            namespace=NAMESPACE,
            cpu=workload.cpu,
            memory=workload.memory,
            labels={"app": workload.name, KIND_LABEL: workload.name},
            priority=workload.priority,
            tolerations=workload.tolerations,
            resources=dict(workload.resources),
        )
        for workload, number in zip(WORKLOADS, numbers, strict=True)
        for index in range(number)
    ]
    random.Random(seed).shuffle(made)
    return made


def _by_share(count: int, shares: list[int]) -> list[int]:
    """Whole numbers in proportion to the shares, at least one each, adding up to `count`."""
    total = sum(shares)
    numbers = [max(1, count * share // total) for share in shares]
    numbers[0] += count - sum(numbers)
    return numbers
