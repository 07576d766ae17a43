"""What the outcome of a bind means for the reservation, the queue and the pod's status.

Owns that one table. Pure. Every reservation ends exactly once (B7): with a code for the engine, or
because the API server's own word on the pod has superseded it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from kpolicy.cluster.writes.binder import (
    AlreadyOurs,
    Bound,
    Conflict,
    Declined,
    Fenced,
    Gone,
    Overloaded,
    Refused,
    SettledOutcome,
    TakenByOther,
)
from kpolicy.engine import Outcome


@dataclass(frozen=True, slots=True)
class BindEnd:
    """`retry`: back to the queue with back-off. `message`: what to tell in the pod's status."""

    settle: Outcome
    retry: bool = False
    message: str = ""


# The room was wanted for a pod of higher priority before the bind was sent.
WITHDRAWN = BindEnd(
    Outcome.FAILED, retry=True, message="a pod of higher priority took the place before the bind"
)


def node_left(node: str) -> BindEnd:
    """Its deletion was heard of before the bind was sent."""
    return BindEnd(Outcome.FAILED, retry=True, message=f"node {node} was deleted before the bind")


def bind_end(outcome: SettledOutcome, node: str) -> BindEnd:
    match outcome:
        case Bound() | AlreadyOurs():
            return BindEnd(Outcome.BOUND)
        case TakenByOther():
            # Its watch event may come before or after this; either way it is not ours to place.
            return BindEnd(Outcome.FAILED)
        case Gone():
            return BindEnd(Outcome.GONE)
        case Conflict(message=message):
            return BindEnd(Outcome.FAILED, retry=True, message=_rejected(node, message))
        case Refused(code=code, message=message):
            return BindEnd(Outcome.FAILED, retry=True, message=_rejected(node, f"{code} {message}"))
        case Overloaded(message=message):
            return BindEnd(Outcome.FAILED, retry=True, message=_rejected(node, message))
        case Declined(message=message):
            return BindEnd(Outcome.FAILED, retry=True, message=message)
        case Fenced():
            # We may no longer be the leader: the next one places it, and we say nothing.
            return BindEnd(Outcome.FAILED, retry=True)
    assert_never(outcome)


def _rejected(node: str, message: str) -> str:
    return f"binding to {node} failed: {message}"
