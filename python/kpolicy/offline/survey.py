"""What is in a snapshot, counted: kinds, nodes, pods, resources.

Owns `Survey`. Must not decide, nor know how it is shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kpolicy.offline.inventory import Entry, State
from kpolicy.offline.problem import OTHER_KIND, Problem
from kpolicy.offline.requests import Amounts, add
from kpolicy.offline.snapshot import Snapshot


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
