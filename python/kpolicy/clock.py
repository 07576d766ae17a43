"""Clocks, time-outs and races: everything that waits for time does it through a `Clock`.

`SystemClock` runs on real time; `ManualClock` moves only when a test moves it. Code that decides
takes nanoseconds as an argument and never a clock.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar, overload

NANOSECONDS = 1_000_000_000

# How often the loop is let run before an auto-jumping clock jumps: enough for a chain of callbacks
# and awaits without I/O to come to rest.
SETTLE_PASSES = 32

First = TypeVar("First")
Second = TypeVar("Second")
Third = TypeVar("Third")


class Alarm(Protocol):
    """A callback that a clock will call."""

    def cancel(self) -> object: ...


SetAlarm: TypeAlias = Callable[[float, Callable[[], None]], Alarm]


class MoveOnAfter:
    """Ends the body of an `async with` after a while, and goes on behind it (as in trio).

    `expired`: the body was cut short. An exception of the body is raised as it is, and so is a
    cancellation from outside.
    """

    def __init__(self, seconds: float, set_alarm: SetAlarm) -> None:
        self._seconds = seconds
        self._set_alarm = set_alarm
        self._has_rung = False
        self.expired = False

    async def __aenter__(self) -> MoveOnAfter:
        task = asyncio.current_task()
        assert task is not None, "only a task can be cut short"
        self._task = task
        self._cancelling = task.cancelling()
        self._alarm = self._set_alarm(self._seconds, self._ring)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        self._alarm.cancel()
        if not self._has_rung:
            return False
        # Somebody else may have cancelled the task as well: that one is not swallowed.
        is_ours = self._task.uncancel() <= self._cancelling
        self.expired = is_ours and isinstance(error, asyncio.CancelledError)
        return self.expired

    def _ring(self) -> None:
        self._has_rung = True
        self._task.cancel()


class Clock(Protocol):
    def now_ns(self) -> int:
        """Wall time since the epoch: for what others read (timestamps), never for deadlines."""

    def monotonic_ns(self) -> int:
        """Time that never steps: for deadlines, ages and back-off."""

    async def sleep(self, seconds: float) -> None: ...

    def move_on_after(self, seconds: float) -> MoveOnAfter:
        """`async with clock.move_on_after(5) as timeout: ...`, then `timeout.expired`."""


class SystemClock:
    """Real time, as the event loop and the machine tell it."""

    __slots__ = ()

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def move_on_after(self, seconds: float) -> MoveOnAfter:
        return MoveOnAfter(seconds, asyncio.get_running_loop().call_later)


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


@overload
async def first_of(first: Coroutine[Any, Any, First], /) -> First: ...
@overload
async def first_of(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second], /
) -> First | Second: ...
@overload
async def first_of(
    first: Coroutine[Any, Any, First],
    second: Coroutine[Any, Any, Second],
    third: Coroutine[Any, Any, Third],
    /,
) -> First | Second | Third: ...
@overload
async def first_of(*works: Coroutine[Any, Any, First]) -> First: ...
async def first_of(*works: Coroutine[Any, Any, object]) -> object:
    """Run all of them, and return the result of the one that ends first.

    The others are cancelled and waited for before this returns. Whatever any of them raises is
    raised here: a single exception as it is, several as a group. Of two that end together the
    earlier argument counts.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            winner = next(task for task in tasks if task.done())
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        if len(failures.exceptions) == 1:
            raise failures.exceptions[0] from None
        raise
    return winner.result()
