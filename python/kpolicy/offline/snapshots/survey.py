"""Counts what is in a snapshot, and how full its nodes are before and after pods are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import field
from fractions import Fraction

from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.offline.snapshots.inventory import Amounts, Inventory, State, total
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KIND, Problem
from kpolicy.quick_dataclass import dataclass


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
    nodes = held.nodes()
    pods = [pod for pod in held.pods() if pod.state is not None]  # else its form cannot be read
    waiting = [pod for pod in pods if pod.state in (State.PENDING, State.GATED)]
    # Other kinds have a count of their own.
    unread = (problem for problem in snapshot.problems if problem.code != OTHER_KIND)
    return Survey(
        kinds=Counter(entry.kind for entry in held.entries.values()),
        left_out=held.left_out,
        nodes=len(nodes),
        nodes_unschedulable=sum(node.is_unschedulable for node in nodes),
        node_versions=Counter(node.word for node in nodes),
        pods=Counter(pod.state for pod in pods if pod.state is not None),
        pending_by_scheduler=Counter(pod.word for pod in waiting),
        allocatable=total(node.amounts for node in nodes),
        requested=total(pod.amounts for pod in pods if pod.state is State.ON_NODE),
        problems=(*unread, *held.problems),
    )


@dataclass(frozen=True, slots=True)
class Utilisation:
    """The sums of one resource, in whole units: cores, bytes, pieces."""

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
    """Whole numbers without a decimal point."""
    return amount.numerator if amount.denominator == 1 else float(amount)


def utilisation(held: Inventory, placed: Collection[str]) -> dict[str, Utilisation]:
    """By resource, of all that nodes have; `placed` are the uids of pods placed since."""
    pods = held.pods()
    has = total(node.amounts for node in held.nodes())
    before = total(pod.amounts for pod in pods if pod.state is State.ON_NODE)
    since = total(
        pod.amounts for pod in pods if pod.state is not State.ON_NODE and pod.uid in placed
    )
    return {name: _of(name, has, before, since) for name in sorted(has)}


def _of(name: str, has: Amounts, before: Amounts, since: Amounts) -> Utilisation:
    at_first = before.get(name, Fraction(0))
    return Utilisation(has[name], at_first, at_first + since.get(name, 0))
