"""A bounded queue of writes that may be late or lost, with workers of its own.

`offer` returns at once; what does not fit is dropped and counted. A newer item replaces a waiting
one of the same key, and two items of one key are never sent at the same time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.limits import WRITE_RETRY_S, WRITE_TIMEOUT_S, WRITE_TRIES_MAX
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class OutboxStatistics:
    waiting: int
    under_way: int
    written: int
    dropped: int  # dropped: the queue was full
    replaced: int  # replaced by a newer one while waiting
    failed: int  # given up after retries


class Outbox(Generic[Item]):
    """`send` returns whether the item was written, and does not raise. While `gives_way` returns
    True, one worker runs."""

    def __init__(
        self,
        send: Callable[[Item], Awaitable[bool]],
        *,
        capacity: int,
        workers: int,
        gives_way: Callable[[], bool] = lambda: False,
    ) -> None:
        self._send = send
        self._capacity = capacity
        self._workers = workers
        self._gives_way = gives_way
        # an OrderedDict: taking the first item of a plain dict again and again is quadratic
        self._waiting: OrderedDict[str, Item] = OrderedDict()
        self._under_way: set[str] = set()
        self._group: asyncio.TaskGroup | None = None
        self._active = 0
        self._asked: dict[str, asyncio.Event] = {}  # keys that `at_rest` waits for
        self._rested = asyncio.Event()  # a worker found no more work
        self._written = self._dropped = self._replaced = self._failed = 0
        self._pulse = NO_PULSE

    def offer(self, key: str, item: Item, *, urgent: bool = False) -> bool:
        """Queue an item, first if it is urgent; False if it was dropped."""
        if key in self._waiting:
            self._replaced += 1
        elif len(self._waiting) >= self._capacity:
            self._dropped += 1
            return False
        self._waiting[key] = item
        if urgent:
            self._waiting.move_to_end(key, last=False)
        self._start_worker()
        return True

    def withdraw(self, key: str) -> None:
        """Remove a waiting item; one being sent is not stopped."""
        self._waiting.pop(key, None)
        self._rest(key)

    def waiting(self, key: str) -> Item | None:
        """Return the item of that key that waits."""
        return self._waiting.get(key)

    async def at_rest(self, key: str) -> None:
        """Wait until no item of that key waits or is being sent. `run` must be running."""
        while key in self._waiting or key in self._under_way:
            await self._asked.setdefault(key, asyncio.Event()).wait()

    def statistics(self) -> OutboxStatistics:
        return OutboxStatistics(
            len(self._waiting),
            len(self._under_way),
            self._written,
            self._dropped,
            self._replaced,
            self._failed,
        )

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Send items until cancelled."""
        self._pulse = pulse
        pulse.rest(self._has_work)
        async with asyncio.TaskGroup() as group:
            self._group = group
            for _ in range(self._workers):
                self._start_worker()
            await asyncio.get_running_loop().create_future()

    async def drain(self, clock: Clock, seconds: float) -> bool:
        """Wait at most so long until everything is sent; return whether it is. `run` must be
        running."""
        async with clock.move_on_after(seconds) as timeout:
            while self._has_work():
                self._rested.clear()
                await self._rested.wait()
        return not timeout.expired

    def _start_worker(self) -> None:
        """Start a worker if there is work. Workers end without work: idle ones would wake for
        every item."""
        if self._group is None or self._active >= self._workers_max:
            return
        if self._next() is not None:
            self._active += 1
            self._group.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._active <= self._workers_max and (key := self._next()) is not None:
                item = self._waiting.pop(key)
                self._under_way.add(key)
                try:
                    written = await self._send(item)
                finally:
                    self._under_way.discard(key)
                    self._rest(key)
                if written:
                    self._written += 1
                else:
                    self._failed += 1
                self._pulse.rest(self._has_work)
                self._start_worker()  # start the workers again that had given way
        finally:
            self._active -= 1
            self._rested.set()

    @property
    def _workers_max(self) -> int:
        return 1 if self._gives_way() else self._workers

    def _has_work(self) -> bool:
        return bool(self._waiting or self._under_way)

    def _rest(self, key: str) -> None:
        if key not in self._waiting and (asked := self._asked.pop(key, None)) is not None:
            asked.set()

    def _next(self) -> str | None:
        # at most as many keys as workers are being sent: no more are skipped
        return next((key for key in self._waiting if key not in self._under_way), None)


async def write(
    client: ApiClient, clock: Clock, verb: str, path: str, body: bytes, *, content_type: str
) -> Response | Failure:
    """Write with a few retries. Only for writes that do no harm if made twice."""
    for attempt in range(1, WRITE_TRIES_MAX + 1):
        answer = await client.request(
            verb, path, body=body, content_type=content_type, timeout_s=WRITE_TIMEOUT_S
        )
        wait_s = WRITE_RETRY_S * attempt
        match answer:
            case Response():
                return answer
            case Status() as status:
                if not status.transient:
                    return answer
                wait_s = max(wait_s, status.retry_after_s or 0.0)
            case Unreachable(cause=Cause.CLOSED | Cause.CREDENTIALS):
                return answer
        if attempt < WRITE_TRIES_MAX:
            await clock.sleep(wait_s)
    return answer
