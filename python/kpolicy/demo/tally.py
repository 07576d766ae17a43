"""What became of the demo's pods, counted from API objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.demo.demo_cluster import KIND_LABEL
from kpolicy.offline.snapshots.resource_amounts import Amounts, add, allocatable, requested

Object = Mapping[str, Any]
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


def take(pods: Iterable[Object], nodes: Sequence[Object]) -> Tally:
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


def why_pending(pod: Object) -> str:
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
