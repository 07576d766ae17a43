"""Why one pod is pending, or where it is: what the API server shows, and what a policy says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from kpolicy.offline.snapshots.cluster_snapshot import (
    Snapshot,
    has_ended,
    node_of,
    pods_of,
    scheduler_of,
)
from kpolicy.offline.snapshots.inventory import PODS, Amounts, add, allocatable, requested
from kpolicy.offline.snapshots.json_objects import Json, key_of, mapping_at, name_of

_INSUFFICIENT: Final = "Insufficient "
_TOO_MANY_PODS: Final = "Too many pods"
# Each class stands behind the resource of this name, whatever else it names.
_RESOURCE_OF_CLASS: Final = "deviceclass.resource.kubernetes.io/"


class Situation(Enum):
    """Of a pod, in words for people."""

    ENDED = "ended"
    PLACED = "placed"
    LEAVING = "leaving"
    GATED = "gated"
    FITS = "fits"
    MAKING_ROOM = "making room"
    FITS_NOWHERE = "fits nowhere"


@dataclass(frozen=True, slots=True)
class Need:
    """What the pod asks of a resource that is short, and what the node with most of it has free.
    `device_class` stands behind the resource, if one does."""

    resource: str
    asked: Fraction
    most_free: Fraction
    node: str
    device_class: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """`by_rule`: the nodes that each rule rejects first. `needs` is empty where nobody listed the
    cluster. `judge` says who explained it; `advice` is what would place it."""

    pod: Json
    explanation: Mapping[str, Any]
    judge: str
    needs: tuple[Need, ...] = ()
    queue: Mapping[str, Any] = field(default_factory=dict)
    advice: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return key_of(self.pod)

    @property
    def node(self) -> str:
        return node_of(self.pod)

    @property
    def situation(self) -> Situation:
        if has_ended(self.pod):
            return Situation.ENDED
        if self.node:
            return Situation.PLACED
        if mapping_at(self.pod, "metadata").get("deletionTimestamp"):
            return Situation.LEAVING
        if "preEnqueue" in self.explanation:
            return Situation.GATED
        if "selected" in self.explanation:
            return Situation.FITS
        if self.nominated_node or self.explanation.get("preemption", {}).get("node"):
            return Situation.MAKING_ROOM
        return Situation.FITS_NOWHERE

    @property
    def nominated_node(self) -> str:
        return str(mapping_at(self.pod, "status").get("nominatedNodeName") or "")

    @property
    def condition(self) -> str:
        """What a scheduler wrote last about why the pod is not scheduled."""
        conditions = mapping_at(self.pod, "status").get("conditions")
        for each in conditions if isinstance(conditions, list) else ():
            if isinstance(each, dict) and each.get("type") == "PodScheduled":
                return str(each.get("message") or "") if each.get("status") == "False" else ""
        return ""

    @property
    def by_rule(self) -> list[tuple[str, int]]:
        """The rule with most nodes first."""
        before = self.explanation.get("preFilter")
        if before:
            return [(str(before["plugin"]), len(self.explanation.get("nodes", ())))]
        rejected = (
            node["filter"] for node in self.explanation.get("nodes", ()) if "filter" in node
        )
        counts = Counter(str(status["plugin"]) for status in rejected)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def line(self) -> dict[str, Any]:
        """The JSON of `kpolicy why --output json`."""
        line: dict[str, Any] = {
            "pod": self.key,
            "situation": self.situation.value,
            "scheduler": scheduler_of(self.pod),
            "judgedBy": self.judge,
            "rejectedBy": dict(self.by_rule),
        }
        shown = {"node": self.node, "condition": self.condition}
        line |= {name: value for name, value in shown.items() if value}
        if self.advice:
            line["advice"] = dict(self.advice)
        return line | {"explanation": dict(self.explanation)}


def needs(snapshot: Snapshot, pod: Json, explanation: Mapping[str, Any]) -> tuple[Need, ...]:
    """The resources that some node is said to have too little of."""
    short = dict.fromkeys(_short(explanation))
    if not short:
        return ()
    asked = requested(pod)
    free = _free(snapshot)
    classes = _device_classes(snapshot)
    made = []
    for resource in short:
        has, node = max(
            ((amounts.get(resource, Fraction(0)), name) for name, amounts in free.items()),
            key=lambda pair: (pair[0], pair[1]),
            default=(Fraction(0), ""),
        )
        wanted, left = asked.get(resource, Fraction(0)), max(has, Fraction(0))
        made.append(Need(resource, wanted, left, node, classes.get(resource, "")))
    return tuple(made)


def _short(explanation: Mapping[str, Any]) -> Iterator[str]:
    for node in explanation.get("nodes", ()):
        for reason in node.get("filter", {}).get("reasons", ()):
            if reason.startswith(_INSUFFICIENT):
                yield reason.removeprefix(_INSUFFICIENT)
            elif reason == _TOO_MANY_PODS:
                yield PODS


def _device_classes(snapshot: Snapshot) -> dict[str, str]:
    """DeviceClasses by the extended resources behind which they stand."""
    named = {}
    for _, item in snapshot.objects():
        if item.get("kind") == "DeviceClass":
            name = name_of(item)
            named[f"{_RESOURCE_OF_CLASS}{name}"] = name
            if resource := mapping_at(item, "spec").get("extendedResourceName"):
                named[str(resource)] = name
    return named


def _free(snapshot: Snapshot) -> dict[str, Amounts]:
    """What each node has left."""
    nodes = (item for _, item in snapshot.objects() if item.get("kind") == "Node")
    free = {name_of(node): dict(allocatable(node)) for node in nodes}
    for pod in pods_of(snapshot):
        if (held := free.get(node_of(pod))) is not None and not has_ended(pod):
            add(held, {name: -amount for name, amount in requested(pod).items()})
    return free
