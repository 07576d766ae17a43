"""Puts each pod of a decided batch into the lane of the queue that follows from its decision.

Knows the queue and the engine's answers alone: the live loop and simulated days both use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kpolicy.engine import Decision, Verdict
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt


class Decided(NamedTuple):
    """A pod of the batch and its decision. `offset_ns`: since the engine began with the batch."""

    pod: Attempt
    decision: Decision
    offset_ns: int


def into_lanes(
    queue: Queue, batch: Sequence[Attempt], decisions: Sequence[Decision], now_ns: int
) -> list[Decided]:
    """Returns the decisions about pods of the batch, in order. Placed pods stay under way.

    Pods after the last decision are undecided, because a call of the engine ends after a bounded
    amount of work. They are the first of the next batch."""
    found: list[Decided] = []
    popped = {pod.uid: pod for pod in batch}
    took_ns = 0
    for decision in decisions:
        began_ns = took_ns
        took_ns += decision.took_ns
        pod = popped.pop(decision.uid, None)
        if pod is None:
            continue
        found.append(Decided(pod, decision, began_ns))
        match decision.verdict:
            case Verdict.PARKED | Verdict.NOT_READY:
                held = bool(decision.victims)
                queue.parked(pod.uid, decision.rejected_by, now_ns, held=held)
            case Verdict.FAILED:
                queue.failed(pod.uid, now_ns)
            case Verdict.SET_ASIDE:
                queue.set_aside(pod.uid, now_ns)
            case Verdict.GONE:
                queue.gone(pod.uid)
            case Verdict.GATED:
                queue.gated(pod.uid, now_ns)
    if not popped:
        return found
    places = {pod.uid: place for place, pod in enumerate(batch)}
    last = max((places.get(decision.uid, -1) for decision in decisions), default=-1)
    for uid in popped:
        if 0 <= last < places[uid]:
            queue.undecided(uid)
        else:  # the engine gave no answer for this pod: try again
            queue.failed(uid, now_ns)
    return found
