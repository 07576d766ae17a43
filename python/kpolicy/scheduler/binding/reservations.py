"""The reservations of placed pods: how many there may be, which can be withdrawn, how each ends.

Until its bind is sent, a placement can be withdrawn: when its pod or its node is deleted, or when a
pod of higher priority takes its place. The API server would bind a pod to a node that it does not
have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from kpolicy.scheduler import limits


@dataclass(frozen=True, slots=True)
class BindEnd:
    """How a reservation ends in the engine: its code. `retry`: the pod backs off and is tried
    again. `message`: for the pod's status and its event. `refused_by`: the plugin that refused the
    pod, which waits for an event then."""

    settle: Outcome
    retry: bool = False
    message: str = ""
    refused_by: str = ""


# Nothing is reported: there is no pod to report about, or it is not ours any more.
DELETED = BindEnd(Outcome.GONE)
LEFT = BindEnd(Outcome.FAILED)
WITHDRAWN = BindEnd(
    Outcome.FAILED, retry=True, message="a pod of higher priority took the place before the bind"
)


def bind_end(outcome: SettledOutcome, node: str) -> BindEnd:
    match outcome:
        case Bound() | AlreadyOurs():
            return BindEnd(Outcome.BOUND)
        case TakenByOther():
            # The watch event may come before or after this answer; the pod has been placed by
            # someone else.
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
            # We may no longer be the leader: the next leader places the pod, and we report nothing.
            return BindEnd(Outcome.FAILED, retry=True)
    assert_never(outcome)


def _rejected(node: str, message: str) -> str:
    return f"binding to {node} failed: {message}"


@dataclass(slots=True, eq=False)
class Reservation:
    """The reservation of one placed pod. `withdrawn` is set when its bind must not be sent any
    more, and says how the reservation ends."""

    uid: str
    node: str
    withdrawn: BindEnd | None = None
    may_send_again: bool = True
    # Called when it is withdrawn, for a part that waits for something else than `wait_withdrawn`.
    on_withdrawn: Callable[[], None] | None = None
    _waiter: asyncio.Future[BindEnd] | None = None

    def withdraw(self, end: BindEnd) -> None:
        self.withdrawn = self.withdrawn or end
        if self.on_withdrawn is not None:
            self.on_withdrawn()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(self.withdrawn)

    async def wait_withdrawn(self) -> BindEnd:
        if self.withdrawn is not None:
            return self.withdrawn
        self._waiter = asyncio.get_running_loop().create_future()
        return await self._waiter


class Reservations:
    """Bounds the binds under way. `on_room` is called when more pods may be placed."""

    def __init__(self, in_flight_max: int, on_room: Callable[[], None]) -> None:
        self._on_room = on_room
        # Each request to the API server takes a place in this window.
        self.window = asyncio.Semaphore(in_flight_max)
        self._open_max = in_flight_max + limits.BINDS_WAITING_MAX
        self._fewer = asyncio.Event()
        self._unsent: dict[str, Reservation] = {}
        self._in_doubt: dict[str, Reservation] = {}
        self.under_way = 0  # those that have not ended
        self.awaiting_volumes = 0  # of them
        self.awaiting_plugins = 0  # of them
        self.in_flight = 0  # of them: bind requests that wait for their answer

    @property
    def room(self) -> int:
        """How many more pods may be placed now."""
        aside = min(self.awaiting_volumes, limits.PRE_BINDS_MAX)
        aside += min(self.awaiting_plugins, limits.PLUGGED_PODS_MAX)
        aside += min(self.in_doubt, limits.BINDS_IN_DOUBT_MAX)
        return self._open_max - self.under_way + aside

    @property
    def in_doubt(self) -> int:
        """The number of binds that were sent and whose result is not known."""
        return len(self._in_doubt)

    def is_full(self) -> bool:
        """Whether as many requests are under way as the window allows."""
        return self.window.locked()

    # --- one reservation, from its begin to its end ----------------------------------------------

    def begin(self, uid: str, node: str) -> Reservation:
        self.under_way += 1
        reservation = self._unsent[uid] = Reservation(uid, node)
        return reservation

    @contextmanager
    def volumes_awaited(self) -> Iterator[None]:
        """The number of pods that wait for volumes. They take no place in the window, so a slow
        volume does not delay other pods."""
        self.awaiting_volumes += 1
        self._on_room()
        try:
            yield
        finally:
            self.awaiting_volumes -= 1

    @contextmanager
    def plugins_awaited(self) -> Iterator[None]:
        """The number of pods about which plugins are asked, or that wait on Permit. They take no
        place in the window either."""
        self.awaiting_plugins += 1
        self._on_room()
        try:
            yield
        finally:
            self.awaiting_plugins -= 1

    def close(self, reservation: Reservation) -> None:
        """From here on it cannot be withdrawn: its bind is sent, or will never be sent."""
        if self._unsent.get(reservation.uid) is reservation:
            del self._unsent[reservation.uid]

    @contextmanager
    def doubted(self, reservation: Reservation) -> Iterator[None]:
        """The bind was sent and not answered. Other binds may use its place in the window."""
        self._in_doubt[reservation.uid] = reservation
        self._on_room()
        try:
            yield
        finally:
            del self._in_doubt[reservation.uid]

    def end(self, count: int) -> None:
        """This many reservations have ended in the engine."""
        self.under_way -= count
        self._fewer.set()

    async def drain(self) -> None:
        """Waits until no reservation is left, except those of pods that wait for volumes."""
        while self.under_way > self.awaiting_volumes:
            self._fewer.clear()
            await self._fewer.wait()

    # --- withdrawing -----------------------------------------------------------------------------

    def withdraw(self, uid: str) -> bool:
        """Withdraws the placement to free its room. Returns False if its bind was already sent."""
        return self._end_unsent(uid, WITHDRAWN)

    def pod_deleted(self, uid: str) -> None:
        self._end_unsent(uid, DELETED)

    def pod_left(self, uid: str) -> None:
        """The pod left the queue: someone else has bound it, or it is no longer served."""
        self._end_unsent(uid, LEFT)

    def nodes_deleted(self, names: frozenset[str]) -> None:
        for reservation in self._unsent.values():
            if reservation.node in names:
                message = f"node {reservation.node} was deleted before the bind"
                reservation.withdraw(BindEnd(Outcome.FAILED, retry=True, message=message))
        for reservation in self._in_doubt.values():
            if reservation.node in names:
                reservation.may_send_again = False

    def _end_unsent(self, uid: str, end: BindEnd) -> bool:
        reservation = self._unsent.get(uid)
        if reservation is not None:
            reservation.withdraw(end)
        return reservation is not None
