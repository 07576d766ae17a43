"""How full a snapshot's nodes are, before and after pods are placed.

Owns the sums over allocatable and requested amounts. Assumes pods by uid. Must not know how pods
came to be placed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from kpolicy.offline.kinds import is_read, uid_of
from kpolicy.offline.requests import ENDED, Amounts, add, allocatable, requested
from kpolicy.offline.snapshot import Snapshot

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


def utilisation(snapshot: Snapshot, placed: Collection[str]) -> dict[str, Utilisation]:
    """By resource, of all that nodes have; `placed` are the uids of pods placed since."""
    has: Amounts = {}
    before: Amounts = {}
    since: Amounts = {}
    for _, item in snapshot.objects():
        try:
            if not is_read(item):
                continue
            if item["kind"] == "Node":
                add(has, allocatable(item))
            elif item["kind"] == "Pod":
                _take(item, placed, before, since)
        except (TypeError, AttributeError, ValueError):
            continue  # of another form than the API's, which the engine has named
    return {
        name: Utilisation(
            has[name],
            before.get(name, _NOTHING),
            before.get(name, _NOTHING) + since.get(name, _NOTHING),
        )
        for name in sorted(has)
    }


def _take(pod: dict[str, object], placed: Collection[str], before: Amounts, since: Amounts) -> None:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    if not isinstance(status, dict) or not isinstance(spec, dict) or status.get("phase") in ENDED:
        return
    if spec.get("nodeName"):
        add(before, requested(pod))
    elif uid_of(pod) in placed:
        add(since, requested(pod))
