"""The demo's tally: what became of the pods, counted from API objects.

Owns the counting. Assumes objects as the API server gives them. Must not do I/O or render.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kpolicy.demo.demo_cluster import KIND_LABEL

Object = Mapping[str, Any]
RESOURCES = ("cpu", "memory")
NOT_TRIED = "not tried yet"
SUFFIXES = {"m": 0.001, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


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
    placed: Counter[str] = Counter()
    pending: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    pools: Counter[str] = Counter()
    used = dict.fromkeys(RESOURCES, 0.0)
    for pod in pods:
        kind = pod["metadata"]["labels"][KIND_LABEL]
        node_name = pod["spec"].get("nodeName")
        if node_name:
            placed[kind] += 1
            pools[pool_of[node_name]] += 1
            for resource, amount in requests(pod).items():
                used[resource] += amount
        else:
            pending[kind] += 1
            reasons[without_counts(why_pending(pod))] += 1
    return Tally(
        placed=placed.total(),
        pending=pending.total(),
        placed_by_kind=placed,
        pending_by_kind=pending,
        pending_by_reason=reasons,
        placed_by_pool=pools,
        utilisation=_shares(used, nodes),
    )


def why_pending(pod: Object) -> str:
    """The PodScheduled condition's message, or that no attempt was reported yet."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message") or condition.get("reason"))
    return NOT_TRIED


def without_counts(message: str) -> str:
    """The reasons of a message alone, so that pods that differ only in how many nodes count as one.

    `0/9 nodes are available: 3 too small, 6 tainted. …` becomes `tainted, too small`.
    """
    head, colon, reasons = message.partition(" nodes are available: ")
    if not colon or not head.startswith("0/"):
        return message
    listed = reasons.split(". ")[0].removesuffix(".").split(", ")
    return ", ".join(sorted(reason.lstrip("0123456789 ") for reason in listed))


def requests(pod: Object) -> dict[str, float]:
    amounts = dict.fromkeys(RESOURCES, 0.0)
    for container in pod["spec"]["containers"]:
        asked = container.get("resources", {}).get("requests", {})
        for resource in RESOURCES:
            amounts[resource] += quantity(asked.get(resource, "0"))
    return amounts


def quantity(text: str) -> float:
    """The forms that the demo's own objects use."""
    for suffix, factor in SUFFIXES.items():
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)


def _shares(used: Mapping[str, float], nodes: Sequence[Object]) -> dict[str, float]:
    whole = {
        resource: sum(
            quantity(node["status"]["allocatable"][resource])
            for node in nodes
            if not node["spec"].get("unschedulable")
        )
        for resource in RESOURCES
    }
    return {resource: used[resource] / whole[resource] for resource in RESOURCES if whole[resource]}
