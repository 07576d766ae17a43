"""What values one term can have under constraints: intervals, sets of texts, orders of a pair.

Owns meeting two constraints on the same term; an empty meeting is a contradiction. Assumes that
terms are compared with constants of one kind. Must not know trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias


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


@dataclass(frozen=True, slots=True)
class Values:
    """One of these, or none of these."""

    values: frozenset[Any]
    is_one_of: bool = True

    def meet(self, other: Values) -> Values | None:
        if self.is_one_of and other.is_one_of:
            met = Values(self.values & other.values)
        elif self.is_one_of:
            met = Values(self.values - other.values)
        elif other.is_one_of:
            met = Values(other.values - self.values)
        else:
            return Values(self.values | other.values, is_one_of=False)
        return met if met.values else None


Domain: TypeAlias = Interval | Values

# How two terms may stand to each other.
LESS: Final = frozenset({"<"})
EQUAL: Final = frozenset({"="})
GREATER: Final = frozenset({">"})
ORDERS: Final = LESS | EQUAL | GREATER


def meet(a: Domain, b: Domain) -> Domain | None:
    if isinstance(a, Interval) and isinstance(b, Interval):
        return a.meet(b)
    if isinstance(a, Values) and isinstance(b, Values):
        return a.meet(b)
    return a  # of different kinds: nothing follows
