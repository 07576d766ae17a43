"""What a plan measures of nodes before and under both policies: how full they are, how much room is
stranded (`offline.fragmentation`), how pods are spread, and sums of columns such as cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple, TypeVar

from kpolicy.offline.answers.diff_overview import NO_VALUE
from kpolicy.quick_dataclass import dataclass

_DIGITS: Final = 6


class Triple(NamedTuple):
    """Before, and with the pods that the old or the new policy places."""

    before: float = 0
    old: float = 0
    new: float = 0

    def plus(self, other: Triple) -> Triple:
        return Triple(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def per(self, whole: Triple) -> Triple:
        """Shares; none of nothing."""
        pairs = zip(self, whole, strict=True)
        return Triple(*(part / of if of else 0.0 for part, of in pairs))

    def line(self) -> dict[str, float]:
        return {name: _rounded(value) for name, value in self._asdict().items()}


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else round(value, _DIGITS)


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """`free` and `stranded` are on nodes that take pods."""

    allocatable: float
    used: Triple
    free: Triple
    stranded: Triple

    @property
    def fullness(self) -> Triple:
        return self.used.per(Triple(self.allocatable, self.allocatable, self.allocatable))

    @property
    def fragmentation(self) -> Triple:
        return self.stranded.per(self.free)

    def line(self) -> dict[str, Any]:
        return {
            "allocatable": _rounded(self.allocatable),
            "used": self.used.line(),
            "fullness": self.fullness.line(),
            "free": self.free.line(),
            "stranded": self.stranded.line(),
            "fragmentation": self.fragmentation.line(),
        }


@dataclass(frozen=True, slots=True)
class ColumnSum:
    """A column over the nodes that are in use; `without`: those of them that have no value."""

    total: Triple
    without: Triple = field(default_factory=Triple)

    def line(self) -> dict[str, Any]:
        return {**self.total.line(), "withoutValue": self.without.line()}


Spread = Mapping[str, Mapping[str, Triple]]


@dataclass(frozen=True, slots=True)
class Measures:
    """`spread`: pods by label of their nodes and its value. A node is in use if it has a pod that
    is not of a DaemonSet."""

    resources: Mapping[str, ResourceUse] = field(default_factory=dict)
    spread: Spread = field(default_factory=dict)
    columns: Mapping[str, ColumnSum] = field(default_factory=dict)
    nodes: int = 0
    in_use: Triple = field(default_factory=Triple)

    @property
    def skew(self) -> dict[str, Triple]:
        """By label: how many more pods the value with the most has than that with the fewest. Nodes
        without the label do not count."""
        named = {
            label: [counts for value, counts in values.items() if value != NO_VALUE]
            for label, values in self.spread.items()
        }
        return {
            label: Triple(*(max(side) - min(side) for side in zip(*values, strict=True)))
            for label, values in named.items()
            if values
        }


def measures_line(measures: Measures) -> dict[str, Any]:
    skew = measures.skew
    return {
        "resources": {name: each.line() for name, each in measures.resources.items()},
        "spread": {
            label: {
                "skew": skew.get(label, Triple()).line(),
                "values": {value: counts.line() for value, counts in values.items()},
            }
            for label, values in measures.spread.items()
            if values
        },
        "columns": {name: each.line() for name, each in measures.columns.items()},
        "nodeCount": measures.nodes,
        "nodesInUse": measures.in_use.line(),
    }


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node for a map of nodes: `used` by resource, `columns` by name."""

    name: str
    zone: str
    rack: str
    takes_pods: bool
    allocatable: Mapping[str, float]
    used: Mapping[str, Triple]
    columns: Mapping[str, float]

    def line(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "zone": self.zone,
            "rack": self.rack,
            "takesPods": self.takes_pods,
            "resources": {
                name: {"allocatable": _rounded(amount), **self.used[name].line()}
                for name, amount in self.allocatable.items()
            },
            "columns": dict(self.columns),
        }


def merged(parts: Sequence[Measures]) -> Measures:
    """Sums over inputs."""
    if len(parts) == 1:
        return parts[0]
    total = Measures()
    for part in parts:
        total = Measures(
            _both(total.resources, part.resources, _added),
            _both(
                total.spread,
                part.spread,
                lambda first, second: _both(first, second, Triple.plus),
            ),
            _both(total.columns, part.columns, _columns_added),
            total.nodes + part.nodes,
            total.in_use.plus(part.in_use),
        )
    return total


_T = TypeVar("_T")


def _both(
    first: Mapping[str, _T], second: Mapping[str, _T], add: Callable[[_T, _T], _T]
) -> dict[str, _T]:
    return {
        **first,
        **{
            name: add(first[name], each) if name in first else each for name, each in second.items()
        },
    }


def _added(first: ResourceUse, second: ResourceUse) -> ResourceUse:
    return ResourceUse(
        first.allocatable + second.allocatable,
        first.used.plus(second.used),
        first.free.plus(second.free),
        first.stranded.plus(second.stranded),
    )


def _columns_added(first: ColumnSum, second: ColumnSum) -> ColumnSum:
    return ColumnSum(first.total.plus(second.total), first.without.plus(second.without))
