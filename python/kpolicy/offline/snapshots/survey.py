"""Counts what is in a snapshot, and how full its nodes are before and after pods are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from kpolicy.offline.snapshots.inventory import Amounts, Entry, Inventory, State, add
from kpolicy.offline.snapshots.snapshot import Snapshot
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KIND, Problem


@dataclass(slots=True)
class Survey:
    """Amounts are in cores, bytes and pieces; `requested` is of pods on nodes."""

    kinds: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    nodes: int = 0
    nodes_unschedulable: int = 0
    node_versions: Counter[str] = field(default_factory=Counter)
    pods: Counter[State] = field(default_factory=Counter)
    pending_by_scheduler: Counter[str] = field(default_factory=Counter)
    allocatable: Amounts = field(default_factory=dict)
    requested: Amounts = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def pods_pending(self) -> int:
        """Gated ones included."""
        return self.pods[State.PENDING] + self.pods[State.GATED]


def survey(snapshot: Snapshot) -> Survey:
    held = snapshot.inventory
    # Other kinds have a count of their own.
    unread = (problem for problem in snapshot.problems if problem.code != OTHER_KIND)
    made = Survey(left_out=held.left_out, problems=(*unread, *held.problems))
    for entry in held.entries.values():
        made.kinds[entry.kind] += 1
    for node in held.nodes():
        made.nodes += 1
        made.nodes_unschedulable += node.is_unschedulable
        made.node_versions[node.word] += 1
        add(made.allocatable, node.amounts)
    for pod in held.pods():
        _take_pod(made, pod)
    return made


def _take_pod(made: Survey, pod: Entry) -> None:
    if pod.state is None:  # of a form that cannot be read
        return
    made.pods[pod.state] += 1
    if pod.state is State.ON_NODE:
        add(made.requested, pod.amounts)
    elif pod.state is not State.ENDED:
        made.pending_by_scheduler[pod.word] += 1


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
