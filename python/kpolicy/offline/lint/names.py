"""Which names a recorded cluster has: labels, taints, resources, namespaces, and how often.

Owns the counting. Assumes objects as an API server gives them; what has another form counts for
nothing. Must not know policies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.offline.json_objects import Json

# Of one label; more are not told apart.
VALUES_MAX: Final = 1_000


@dataclass(slots=True)
class Labelled:
    """Objects of one kind: how many, which label keys, and the values of each."""

    total: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    values: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def take(self, labels: Mapping[str, Any]) -> None:
        self.total += 1
        for key, value in labels.items():
            self.keys[key] += 1
            values = self.values[key]
            if isinstance(value, str) and (value in values or len(values) < VALUES_MAX):
                values[value] += 1


@dataclass(slots=True)
class Names:
    nodes: Labelled = field(default_factory=Labelled)
    pods: Labelled = field(default_factory=Labelled)
    namespaces: Labelled = field(default_factory=Labelled)
    # Namespace objects, and those that pods are in.
    namespace_names: Counter[str] = field(default_factory=Counter)
    taints: Counter[str] = field(default_factory=Counter)
    # Of nodes, or asked for by pods.
    resources: Counter[str] = field(default_factory=Counter)


def names_of(items: Iterable[tuple[str, Json]]) -> Names:
    names = Names()
    for _, item in items:
        kind = item.get("kind")
        metadata = _map(item, "metadata")
        if kind == "Node":
            names.nodes.take(_map(metadata, "labels"))
            names.taints.update(_taints(item))
            for part in ("allocatable", "capacity"):
                names.resources.update(_map(_map(item, "status"), part).keys())
        elif kind == "Pod":
            names.pods.take(_map(metadata, "labels"))
            names.namespace_names[str(metadata.get("namespace") or "default")] += 1
            names.resources.update(_requested(item))
        elif kind == "Namespace":
            names.namespaces.take(_map(metadata, "labels"))
            names.namespace_names[str(metadata.get("name"))] += 1
    return names


def _map(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = holder.get(name)
    return part if isinstance(part, dict) else {}


def _list(holder: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    part = holder.get(name)
    yield from (one for one in part if isinstance(one, dict)) if isinstance(part, list) else ()


def _taints(node: Json) -> Iterator[str]:
    for taint in _list(_map(node, "spec"), "taints"):
        yield str(taint.get("key"))


def _requested(pod: Json) -> Iterator[str]:
    for containers in ("containers", "initContainers"):
        for container in _list(_map(pod, "spec"), containers):
            for part in ("requests", "limits"):
                yield from _map(_map(container, "resources"), part)
