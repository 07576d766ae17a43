"""Placements whose bind request has not been sent yet, and how each reservation ends.

Until its bind is sent, a placement can be withdrawn: when its node is deleted, or when a pod of
higher priority takes its place. The API server would bind a pod to a node that it does not have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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


class Unsent:
    def __init__(self) -> None:
        self._unsent: dict[str, tuple[str, asyncio.Future[BindEnd]]] = {}
        self._in_doubt: dict[str, str] = {}

    def begin(self, uid: str, node: str) -> asyncio.Future[BindEnd]:
        """Done once it is not to be sent, with its end."""
        taken_back: asyncio.Future[BindEnd] = asyncio.get_running_loop().create_future()
        self._unsent[uid] = (node, taken_back)
        return taken_back

    def end(self, uid: str) -> None:
        """It is sent now, or has come to its end."""
        del self._unsent[uid]

    def doubt(self, uid: str, node: str) -> None:
        """It was sent, and perhaps is to be sent again."""
        self._in_doubt[uid] = node

    def may_send_again(self, uid: str) -> bool:
        return uid in self._in_doubt

    def settled(self, uid: str) -> None:
        self._in_doubt.pop(uid, None)

    def __len__(self) -> int:
        return len(self._unsent) + len(self._in_doubt)

    def withdraw(self, uid: str) -> bool:
        """Take it back, for its room; false where that is too late."""
        _, taken_back = self._unsent.get(uid, ("", None))
        if taken_back is not None and not taken_back.done():
            taken_back.set_result(WITHDRAWN)
        return taken_back is not None

    def nodes_left(self, is_left: Callable[[str], bool]) -> None:
        for node, taken_back in self._unsent.values():
            if not taken_back.done() and is_left(node):
                taken_back.set_result(node_left(node))
        for uid in [uid for uid, node in self._in_doubt.items() if is_left(node)]:
            del self._in_doubt[uid]


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
