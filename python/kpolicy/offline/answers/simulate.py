"""`simulate`: places all pending pods of a snapshot, each seeing the ones before it.

Nothing is evicted: a pod that preemption would make room for says where, and in place of whom.
Decides with the engine's `schedule`, as the scheduler does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kpolicy.engine import Decision, Verdict
from kpolicy.offline.answers.policy_on_snapshot import PolicyOnSnapshot, decide
from kpolicy.offline.reports.columns import largest_first
from kpolicy.offline.snapshots.snapshot import Progress, Snapshot
from kpolicy.offline.snapshots.survey import Utilisation, utilisation
from kpolicy.policy.assembly.program import Program


@dataclass(frozen=True, slots=True)
class SimulatedPod:
    """`node` if it is placed, else `message` why not; `victims` as `namespace/name`."""

    pod: str
    uid: str
    node: str
    message: str
    rejected_by: tuple[str, ...] = ()
    nominated_node: str = ""
    victims: tuple[str, ...] = ()

    def line(self) -> dict[str, Any]:
        """As `kpolicy simulate --output json` prints it; what does not apply is absent."""
        if self.node:
            return {"pod": self.pod, "node": self.node}
        line: dict[str, Any] = {"pod": self.pod, "message": self.message}
        if self.nominated_node:
            line |= {"nominatedNode": self.nominated_node, "victims": list(self.victims)}
        return line


@dataclass(slots=True)
class Summary:
    """`by_reason` counts messages, `by_rule` the pods that each rule keeps from some node."""

    placed: int = 0
    pending: int = 0
    not_served: int = 0
    nodes: int = 0
    by_reason: Counter[str] = field(default_factory=Counter)
    by_rule: Counter[str] = field(default_factory=Counter)
    utilisation: dict[str, Utilisation] = field(default_factory=dict)

    def line(self) -> dict[str, Any]:
        summary = {
            "pods": self.placed + self.pending,
            "placed": self.placed,
            "pending": self.pending,
            "notServed": self.not_served,
            "nodes": self.nodes,
            "byReason": dict(largest_first(self.by_reason)),
            "byRule": dict(largest_first(self.by_rule)),
            "utilisation": {name: used.line() for name, used in self.utilisation.items()},
        }
        return {"summary": summary}


@dataclass(frozen=True, slots=True)
class Simulation:
    pods: list[SimulatedPod]
    summary: Summary


def simulate(
    snapshot: Snapshot,
    policy: Program | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Simulation:
    """Place all pending pods that the policy serves, in the order of priority, creation and name.

    Without a policy, what kube-scheduler does. Raises `PolicyRefusedError`."""
    work = Simulating(snapshot, policy, seed=seed)
    return Simulation(list(work.pods(progress)), work.summary())


class Simulating(PolicyOnSnapshot):
    """A simulation pod by pod. `summary` counts the pods so far."""

    def __init__(self, snapshot: Snapshot, policy: Program | None = None, *, seed: int = 0) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self._queue = self.pending()
        self._not_served = len(self.engine.pending()) - len(self._queue)
        self._simulated: list[SimulatedPod] = []
        self._nodes = 0

    def pods(self, progress: Progress | None = None) -> Iterator[SimulatedPod]:
        for decision in decide(self.engine, self._queue, progress):
            self._nodes = decision.nodes_total
            self._simulated.append(_simulated(decision))
            yield self._simulated[-1]

    def summary(self) -> Summary:
        placed = {pod.uid for pod in self._simulated if pod.node}
        unplaced = [pod for pod in self._simulated if not pod.node]
        return Summary(
            placed=len(placed),
            pending=len(unplaced),
            not_served=self._not_served,
            nodes=self._nodes,
            by_reason=Counter(pod.message for pod in unplaced),
            by_rule=Counter(rule for pod in unplaced for rule in pod.rejected_by),
            utilisation=utilisation(self.snapshot.inventory, placed),
        )


def _simulated(decision: Decision) -> SimulatedPod:
    is_gone = decision.verdict == Verdict.GONE
    return SimulatedPod(
        pod=f"{decision.namespace}/{decision.name}",
        uid=decision.uid,
        node=decision.node,
        message="the pod is being deleted" if is_gone else decision.message,
        rejected_by=tuple(decision.rejected_by),
        nominated_node=decision.nominated_node,
        victims=tuple(victim.key for victim in decision.victims),
    )
