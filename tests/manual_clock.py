"""A clock for tests: it moves only when a test moves it, or by itself when every task waits."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import MoveOnAfter

# How often the loop is let run before an auto-jumping clock jumps: enough for a chain of callbacks
# and awaits without I/O to come to rest.
SETTLE_PASSES = 32


class ManualClock:
    """A clock for tests and simulations: hours pass in microseconds and always the same way.

    `advance` moves it. With `auto_jump` it moves by itself to the next deadline as soon as every
    task of the loop waits; it cannot see sockets, so use that only where nobody does I/O.
    `step_wall` moves the wall clock alone, as an administrator or NTP may.
    """

    def __init__(
        self,
        now_ns: int = 1_700_000_000 * NANOSECONDS,
        *,
        monotonic_ns: int = 0,
        auto_jump: bool = False,
    ) -> None:
        self._wall_offset_ns = now_ns - monotonic_ns
        self._monotonic_ns = monotonic_ns
        self._auto_jump = auto_jump
        self._jump_pending = False
        self._order = itertools.count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ns(self) -> int:
        return self._monotonic_ns + self._wall_offset_ns

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def step_wall(self, seconds: float) -> None:
        self._wall_offset_ns += round(seconds * NANOSECONDS)

    def stand_still(self, seconds: float) -> None:
        """Time passes, and nothing runs meanwhile, as when a process is stopped and continued."""
        self._monotonic_ns += round(seconds * NANOSECONDS)

    @property
    def sleepers(self) -> int:
        """How many sleep now: lets a test wait until a task has come to its sleep."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        await self._wake_after(seconds)

    def move_on_after(self, seconds: float) -> MoveOnAfter:
        return MoveOnAfter(seconds, self._set_alarm)

    async def advance(self, seconds: float) -> None:
        """Move on, waking sleepers in the order of their deadlines, each at its own time."""
        target_ns = self._monotonic_ns + round(seconds * NANOSECONDS)
        await self.settle()
        while (deadline_ns := self._next_deadline_ns()) is not None and deadline_ns <= target_ns:
            self._wake_until(deadline_ns)
            await self.settle()
        self._monotonic_ns = target_ns

    async def jump(self) -> None:
        """Move on to the next deadline, if there is one."""
        await self.settle()
        deadline_ns = self._next_deadline_ns()
        if deadline_ns is not None:
            self._wake_until(deadline_ns)
            await self.settle()

    async def settle(self) -> None:
        """Let everyone who can run without I/O run."""
        for _ in range(SETTLE_PASSES):
            await asyncio.sleep(0)

    def _set_alarm(self, seconds: float, ring: Callable[[], None]) -> asyncio.Future[None]:
        alarm = self._wake_after(seconds)
        alarm.add_done_callback(lambda future: None if future.cancelled() else ring())
        return alarm

    def _wake_after(self, seconds: float) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if seconds <= 0:
            future.set_result(None)
            return future
        deadline_ns = self._monotonic_ns + round(seconds * NANOSECONDS)
        heapq.heappush(self._sleepers, (deadline_ns, next(self._order), future))
        if self._auto_jump:
            self._plan_jump()
        return future

    def _next_deadline_ns(self) -> int | None:
        while self._sleepers and self._sleepers[0][2].done():  # cancelled sleepers
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _wake_until(self, time_ns: int) -> None:
        self._monotonic_ns = max(self._monotonic_ns, time_ns)
        while self._sleepers and self._sleepers[0][0] <= time_ns:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    def _plan_jump(self, passes: int = SETTLE_PASSES) -> None:
        if self._jump_pending and passes == SETTLE_PASSES:
            return
        self._jump_pending = True
        loop = asyncio.get_running_loop()
        if passes:
            loop.call_soon(self._plan_jump, passes - 1)
            return
        self._jump_pending = False
        deadline_ns = self._next_deadline_ns()
        if deadline_ns is not None:
            self._wake_until(deadline_ns)
            if self._sleepers:
                self._plan_jump()
