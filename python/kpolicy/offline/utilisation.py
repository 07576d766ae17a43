"""How full a snapshot's nodes are, before and after pods are placed.

Owns the sums over allocatable and requested amounts. Assumes pods by uid. Must not know how pods
came to be placed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from kpolicy.offline.inventory import Inventory, State
from kpolicy.offline.requests import Amounts, add

_NOTHING: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Of one resource, in whole units: cores, bytes, pieces."""

    allocatable: Fraction
    before: Fraction
    after: Fraction

    def share(self, amount: Fraction) -> float:
        return float(amount / self.allocatable) if self.allocatable else 0.0

    def line(self) -> dict[str, int | float]:
        return {
            "allocatable": number(self.allocatable),
            "before": number(self.before),
            "after": number(self.after),
        }


def number(amount: Fraction) -> int | float:
    """Whole numbers as such."""
    return amount.numerator if amount.denominator == 1 else float(amount)


def utilisation(held: Inventory, placed: Collection[str]) -> dict[str, Utilisation]:
    """By resource, of all that nodes have; `placed` are the uids of pods placed since."""
    has: Amounts = {}
    before: Amounts = {}
    since: Amounts = {}
    for node in held.nodes():
        add(has, node.amounts)
    for pod in held.pods():
        if pod.state is State.ON_NODE:
            add(before, pod.amounts)
        elif pod.uid in placed:
            add(since, pod.amounts)
    return {name: _of(name, has, before, since) for name in sorted(has)}


def _of(name: str, has: Amounts, before: Amounts, since: Amounts) -> Utilisation:
    at_first = before.get(name, _NOTHING)
    return Utilisation(has[name], at_first, at_first + since.get(name, _NOTHING))
