"""`simulate`: place all pending pods of a snapshot, each seeing the ones before it.

Owns the order and what is told of each pod. Nothing is evicted: where preemption would make room,
the pod says where and whose. Decides with the engine's `schedule`, as the scheduler does. Must not
decide itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.engine import Decision, Verdict
from kpolicy.offline.limits import BATCH_PODS
from kpolicy.offline.snapshots.pod_lookup import queue_order
from kpolicy.offline.snapshots.snapshot import Progress, Snapshot, default_program
from kpolicy.offline.snapshots.survey import Utilisation, utilisation
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.compile import EVERY_POD

# Rules may read ages; a recorded cluster stands still at its epoch.
_NOW_NS: Final = 0


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
        summary: dict[str, Any] = {
            "pods": self.placed + self.pending,
            "placed": self.placed,
            "pending": self.pending,
            "notServed": self.not_served,
            "nodes": self.nodes,
            "byReason": _largest_first(self.by_reason),
            "byRule": _largest_first(self.by_rule),
            "utilisation": {name: one.line() for name, one in self.utilisation.items()},
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


class Simulating:
    """The same pod by pod; `summary` is of those that came so far."""

    def __init__(self, snapshot: Snapshot, policy: Program | None = None, *, seed: int = 0) -> None:
        program = policy or default_program()
        served = frozenset(program.scheduler_names)
        self._snapshot = snapshot
        self._engine = snapshot.engine(program, seed=seed)
        pending = self._engine.pending()
        waiting = [pod for pod in pending if EVERY_POD in served or pod.scheduler_name in served]
        self._uids = [pod.uid for pod in queue_order(waiting)]
        self._not_served = len(pending) - len(waiting)
        self._came: list[SimulatedPod] = []
        self._nodes = 0

    @property
    def statistics(self) -> bytes:
        """What the engine holds."""
        return self._engine.statistics()

    def pods(self, progress: Progress | None = None) -> Iterator[SimulatedPod]:
        for start in range(0, len(self._uids), BATCH_PODS):
            batch = self._uids[start : start + BATCH_PODS]
            decisions = self._engine.schedule(batch, _NOW_NS).decisions
            for decision in decisions:
                self._nodes = decision.nodes_total
                pod = _simulated(decision)
                self._came.append(pod)
                yield pod
            if progress is not None:
                progress(start + len(batch), len(self._uids))

    def summary(self) -> Summary:
        placed = {pod.uid for pod in self._came if pod.node}
        unplaced = [pod for pod in self._came if not pod.node]
        return Summary(
            placed=len(placed),
            pending=len(unplaced),
            not_served=self._not_served,
            nodes=self._nodes,
            by_reason=Counter(pod.message for pod in unplaced),
            by_rule=Counter(rule for pod in unplaced for rule in pod.rejected_by),
            utilisation=utilisation(self._snapshot.inventory, placed),
        )


def _simulated(decision: Decision) -> SimulatedPod:
    message = decision.message
    if decision.verdict == Verdict.GONE:
        message = "the pod is being deleted"
    return SimulatedPod(
        pod=f"{decision.namespace}/{decision.name}",
        uid=decision.uid,
        node=decision.node,
        message=message,
        rejected_by=tuple(decision.rejected_by),
        nominated_node=decision.nominated_node,
        victims=tuple(victim.key for victim in decision.victims),
    )


def _largest_first(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
