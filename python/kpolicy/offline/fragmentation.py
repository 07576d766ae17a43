"""Fragmentation: the part of what is free of a resource that is on nodes where usual pods do not
fit.

Usual pods of a resource are those that ask for it, of the most frequent kinds; each kind counts as
often as it comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kpolicy.offline.limits import FRAGMENT_SHAPES_MAX

# Whole numbers of thousandths, in the order of the resources.
Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UsualPods:
    """`kinds`: what pods of each kind ask for. `weights`: of each resource, how often each kind
    comes that asks for it, by its position among the kinds."""

    kinds: tuple[Vector, ...]
    weights: tuple[Mapping[int, int], ...]

    @classmethod
    def of(cls, came: Mapping[Vector, int], resources: int) -> UsualPods:
        """`came`: how many pods of each kind came."""
        usual: list[list[tuple[Vector, int]]] = []
        for position in range(resources):
            asking = Counter({kind: count for kind, count in came.items() if kind[position]})
            usual.append(asking.most_common(FRAGMENT_SHAPES_MAX))
        places: dict[Vector, int] = {}
        for own in usual:
            for kind, _ in own:
                places.setdefault(kind, len(places))
        weights = tuple({places[kind]: count for kind, count in own} for own in usual)
        return cls(tuple(places), weights)

    def stranded(self, free: Iterable[tuple[Vector, bool]]) -> list[float]:
        """Of each resource, how much is free where usual pods do not fit. `free`: of each node what
        is free, and whether it has a place for one more pod."""
        totals = [sum(own.values()) for own in self.weights]
        sums = [0.0] * len(self.weights)
        for amounts, has_place in free:
            fits = self._fits(amounts) if has_place else ()
            for position, (own, total) in enumerate(zip(self.weights, totals, strict=True)):
                if total and amounts[position]:
                    fitting = sum(own.get(kind, 0) for kind in fits)
                    sums[position] += amounts[position] * (total - fitting) / total
        return sums

    def _fits(self, amounts: Vector) -> Sequence[int]:
        return [
            place for place, kind in enumerate(self.kinds) if all(map(int.__le__, kind, amounts))
        ]
