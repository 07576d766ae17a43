"""The demo's cluster: a few hundred nodes and a few thousand pods of several kinds, and a count of
what became of the pods.

The same seed gives the same objects.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.offline.snapshots.inventory import Amounts, add, allocatable, requested
from kpolicy.testing import builders

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
            yield builders.node(
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
        builders.pod(
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
    numbers = [max(1, count * share // sum(shares)) for share in shares]
    numbers[0] += count - sum(numbers)
    return numbers


RESOURCES: Final = ("cpu", "memory")
NOT_TRIED: Final = "not tried yet"


@dataclass(frozen=True, slots=True)
class Tally:
    placed: int
    pending: int
    placed_by_kind: Mapping[str, int]
    pending_by_kind: Mapping[str, int]
    pending_by_reason: Mapping[str, int]
    placed_by_pool: Mapping[str, int]
    utilisation: Mapping[str, float] = field(default_factory=dict)


def take(pods: Iterable[Mapping[str, Any]], nodes: Sequence[Mapping[str, Any]]) -> Tally:
    pool_of = {node["metadata"]["name"]: node["metadata"]["labels"]["pool"] for node in nodes}
    placed, pending = Counter[str](), Counter[str]()
    reasons, pools = Counter[str](), Counter[str]()
    used: Amounts = {}
    whole: Amounts = {}
    for pod in pods:
        kind = pod["metadata"]["labels"][KIND_LABEL]
        if pod["spec"].get("nodeName"):
            placed[kind] += 1
            pools[pool_of[pod["spec"]["nodeName"]]] += 1
            add(used, requested(pod))
        else:
            pending[kind] += 1
            reasons[without_counts(why_pending(pod))] += 1
    for node in nodes:
        if not node["spec"].get("unschedulable"):
            add(whole, allocatable(node))
    return Tally(
        placed=placed.total(),
        pending=pending.total(),
        placed_by_kind=placed,
        pending_by_kind=pending,
        pending_by_reason=reasons,
        placed_by_pool=pools,
        utilisation={
            name: float(used.get(name, 0) / whole[name]) for name in RESOURCES if whole.get(name)
        },
    )


def why_pending(pod: Mapping[str, Any]) -> str:
    """The message of the PodScheduled condition, or that the pod was not tried."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message") or condition.get("reason"))
    return NOT_TRIED


def without_counts(message: str) -> str:
    """The reasons of a message without the numbers of nodes, so that equal reasons count together.

    `0/9 nodes are available: 3 too small, 6 tainted. …` becomes `tainted, too small`.
    """
    head, colon, reasons = message.partition(" nodes are available: ")
    if not colon or not head.startswith("0/"):
        return message
    listed = reasons.split(". ")[0].removesuffix(".").split(", ")
    return ", ".join(sorted(reason.lstrip("0123456789 ") for reason in listed))
