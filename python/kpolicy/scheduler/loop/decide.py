"""Reads the engine's verdicts: moves each pod of a batch in the queue, and lists what must follow.

There is no clock and no I/O here; `consequences` acts on the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kpolicy.cluster.writes.pod_status import ConditionReason
from kpolicy.engine import Decision, Verdict
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt


@dataclass(frozen=True, slots=True)
class Basis:
    """What the decisions of one batch rest on. Wall and monotonic time of the engine call."""

    policy_hash: str
    snapshot_version: str
    started_ns: int
    started_monotonic_ns: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Assumed by the engine: it ends with a bind, or with the reservation forgotten."""

    pod: Attempt
    decision: Decision
    offset_ns: int  # since the engine began with the batch


@dataclass(frozen=True, slots=True)
class Rejection:
    """An attempt without a node, to be told in the pod's status and as an event."""

    pod: Attempt
    decision: Decision
    offset_ns: int
    reason: ConditionReason


@dataclass(slots=True)
class Taken:
    placements: list[Placement] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    dropped: int = 0
    gated: int = 0
    took_ns: int = 0  # the engine's own time for all of them


def take(
    queue: Queue, batch: Iterable[Attempt], decisions: Iterable[Decision], now_ns: int
) -> Taken:
    """Put each pod of the batch where its decision says.

    A pod that left the queue while the engine decided is bound all the same if it was placed: only
    the API server knows which of the two came first, and the reservation must end."""
    taken = Taken()
    popped = {pod.uid: pod for pod in batch}
    for decision in decisions:
        began_ns = taken.took_ns
        taken.took_ns += decision.took_ns
        pod = popped.pop(decision.uid, None)
        if pod is None:
            continue
        match Verdict(decision.verdict):
            case Verdict.PLACED:
                taken.placements.append(Placement(pod, decision, began_ns))
            case Verdict.PARKED:
                held = bool(decision.victims)
                queue.parked(pod.uid, decision.rejected_by, now_ns, held=held)
                reason = ConditionReason.UNSCHEDULABLE
                taken.rejections.append(Rejection(pod, decision, began_ns, reason))
            case Verdict.FAILED:
                queue.failed(pod.uid, now_ns)
                reason = ConditionReason.SCHEDULER_ERROR
                taken.rejections.append(Rejection(pod, decision, began_ns, reason))
            case Verdict.SET_ASIDE:
                queue.set_aside(pod.uid, now_ns)
                reason = ConditionReason.UNSCHEDULABLE
                taken.rejections.append(Rejection(pod, decision, began_ns, reason))
            case Verdict.GONE:
                queue.gone(pod.uid)
                taken.dropped += 1
            case Verdict.GATED:
                queue.gated(pod.uid, now_ns)
                taken.gated += 1
    for pod in popped.values():  # the engine owes an answer for each; without one, try again
        queue.failed(pod.uid, now_ns)
    return taken
