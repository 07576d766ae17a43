"""How full each node is, beside the engine: sums, fragmentation and imbalance by resource.

Amounts are whole numbers of thousandths, in the order of the resources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import add, sub
from typing import Any

from kpolicy.offline.days.pod_texts import PodTexts, milli
from kpolicy.offline.fragmentation import UsualPods, Vector
from kpolicy.offline.snapshots.inventory import PODS, allocatable


@dataclass(frozen=True, slots=True)
class Fullness:
    """One resource at one moment. `imbalance`: the standard deviation of how full nodes are."""

    allocatable: int
    requested: int
    fragmentation: float
    imbalance: float

    @property
    def allocation(self) -> float:
        return self.requested / self.allocatable if self.allocatable else 0.0


class ClusterBook:
    def __init__(self, resources: Sequence[str]) -> None:
        self.resources = tuple(resources)
        self._offered: dict[str, Vector] = {}
        self._requested: dict[str, Vector] = {}
        self._places: dict[str, int] = {}
        self._places_taken: Counter[str] = Counter()
        # By what pods request, how many came.
        self._came: Counter[Vector] = Counter()
        self._vectors: dict[PodTexts, Vector] = {}
        self._nothing = (0,) * len(self.resources)

    @property
    def nodes(self) -> int:
        return len(self._offered)

    def node_is(self, node: Mapping[str, Any]) -> None:
        name = str(node["metadata"]["name"])
        amounts = allocatable(node)
        self._offered[name] = tuple(
            milli(amounts[each]) if each in amounts else 0 for each in self.resources
        )
        self._places[name] = int(amounts.get(PODS, 0))
        self._requested.setdefault(name, self._nothing)

    def node_gone(self, name: str) -> None:
        self._offered.pop(name, None)

    def came(self, texts: PodTexts) -> Vector:
        vector = self._vectors.get(texts)
        if vector is None:
            vector = tuple(texts.amounts.get(name, 0) for name in self.resources)
            self._vectors[texts] = vector
        self._came[vector] += 1
        return vector

    def placed(self, node: str, vector: Vector) -> None:
        self._requested[node] = tuple(map(add, self._requested.get(node, self._nothing), vector))
        self._places_taken[node] += 1

    def left(self, node: str, vector: Vector) -> None:
        self._requested[node] = tuple(map(sub, self._requested[node], vector))
        self._places_taken[node] -= 1

    def fullness(self) -> dict[str, Fullness]:
        free = {
            name: tuple(max(0, amount) for amount in map(sub, offered, self._requested[name]))
            for name, offered in self._offered.items()
        }
        usual = UsualPods.of(self._came, len(self.resources))
        stranded = usual.stranded(
            (amounts, self._places_taken[name] < self._places[name])
            for name, amounts in free.items()
        )
        return {
            resource: self._of(position, resource, free, stranded[position])
            for position, resource in enumerate(self.resources)
        }

    def _of(
        self, position: int, resource: str, free: Mapping[str, Vector], stranded: float
    ) -> Fullness:
        offered = [(name, has[position]) for name, has in self._offered.items() if has[position]]
        requested = [self._requested[name][position] for name, _ in offered]
        parts = [used / has for used, (_, has) in zip(requested, offered, strict=True)]
        mean = sum(parts) / len(parts) if parts else 0.0
        variance = sum((part - mean) ** 2 for part in parts) / len(parts) if parts else 0.0
        left = sum(free[name][position] for name, _ in offered)
        return Fullness(
            sum(has for _, has in offered),
            sum(requested),
            stranded / left if left else 0.0,
            sqrt(variance),
        )
