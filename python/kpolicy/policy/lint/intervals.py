"""Intervals of numbers: on one side of a constant, and those that an operand can be at all."""

from __future__ import annotations

import math
from typing import Final

from kpolicy.policy.cel.tree import Call, Fact, Tree
from kpolicy.quick_dataclass import dataclass

# How two terms may stand to each other.
LESS: Final = frozenset({"<"})
EQUAL: Final = frozenset({"="})
GREATER: Final = frozenset({">"})
ORDERS: Final = LESS | EQUAL | GREATER


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from `low` to `high`, the ends included or not, but for `without`."""

    low: float = -math.inf
    high: float = math.inf
    is_low_open: bool = False
    is_high_open: bool = False
    without: frozenset[float] = frozenset()

    def meet(self, other: Interval) -> Interval | None:
        low = max((self.low, self.is_low_open), (other.low, other.is_low_open))
        high = min((self.high, not self.is_high_open), (other.high, not other.is_high_open))
        met = Interval(low[0], high[0], low[1], not high[1], self.without | other.without)
        is_point = met.low == met.high
        if met.low > met.high or (is_point and (met.is_low_open or met.is_high_open)):
            return None
        return None if is_point and met.low in met.without else met


def half_line(orders: frozenset[str], value: float, *, is_whole: bool) -> Interval:
    """The numbers on one side of `value`; whole numbers above 4 are those from 5 on."""
    is_open = "=" not in orders
    if is_open and is_whole and float(value).is_integer():
        return Interval(low=value + 1) if ">" in orders else Interval(high=value - 1)
    if ">" in orders:
        return Interval(low=value, is_low_open=is_open)
    return Interval(high=value, is_high_open=is_open)


_COUNTS: Final = (
    ".podCount",
    ".nodeCount",
    ".pods.size",
    ".pods.count",
    ".pods.sameController",
    "cluster.domains",
)
# The results of functions, by overload. Of a duration, `getHours` and its like have no bounds.
_RESULTS: Final = {
    "index_of_": Interval(low=-1),
    "last_index_of_": Interval(low=-1),
    "size_": Interval(low=0),
    "get_month_timestamp": Interval(0, 11),
    "get_date_timestamp": Interval(1, 31),
    "get_day_of_month_timestamp": Interval(0, 30),
    "get_day_of_week_timestamp": Interval(0, 6),
    "get_day_of_year_timestamp": Interval(0, 365),
    "get_hours_timestamp": Interval(0, 23),
    "get_minutes_timestamp": Interval(0, 59),
    "get_seconds_timestamp": Interval(0, 59),
    "get_milliseconds_timestamp": Interval(0, 999),
}


def results_of(tree: Tree) -> Interval | None:
    """The numbers that its value is one of, whatever the pod and the node; None if nothing is
    known. What can be less than zero on a strange cluster, such as what is free, is not known."""
    match tree:
        case Call(name=name):
            for overload, results in _RESULTS.items():
                if name.startswith(overload):
                    return results
        case Fact(name=name) if name.endswith(_COUNTS):
            return Interval(low=0)
    return Interval(low=0) if tree.type.name == "uint" else None
