"""Clocks, time limits, waiting for the first of several tasks, and heartbeats of long tasks.

Everything that waits for time does it through a `Clock`. `SystemClock` runs on real time; tests and
simulations have clocks of their own. Code that decides takes nanoseconds as an argument and never a
clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar, overload

from kpolicy.api_times import NANOSECONDS

First = TypeVar("First")
Second = TypeVar("Second")


class Alarm(Protocol):
    """A callback that a clock will call."""

    def cancel(self) -> object: ...


class MoveOnAfter:
    """Ends the body of an `async with` after some time, and continues after it (as in trio).
    `expired`: the body was cut short. An exception of the body is raised as it is, and so is a
    cancellation from outside."""

    def __init__(
        self, seconds: float, set_alarm: Callable[[float, Callable[[], None]], Alarm]
    ) -> None:
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
        # Another part may have cancelled the task too: that cancellation is not swallowed.
        is_ours = self._task.uncancel() <= self._cancelling
        self.expired = is_ours and isinstance(error, asyncio.CancelledError)
        return self.expired

    def _ring(self) -> None:
        self._has_rung = True
        self._task.cancel()


class Clock(Protocol):
    def now_ns(self) -> int:
        """Wall time since the epoch, for times that others read; never for deadlines."""

    def monotonic_ns(self) -> int:
        """Time that never jumps, for deadlines, ages and back-off."""

    async def sleep(self, seconds: float) -> None: ...

    def move_on_after(self, seconds: float) -> MoveOnAfter:
        """`async with clock.move_on_after(5) as timeout: ...`, then `timeout.expired`."""


class SystemClock:
    """Real time, from the event loop and the machine."""

    __slots__ = ()

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def move_on_after(self, seconds: float) -> MoveOnAfter:
        return MoveOnAfter(seconds, asyncio.get_running_loop().call_later)


@asynccontextmanager
async def task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group that raises a single exception as it is, and several as a group."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failures:
        if len(failures.exceptions) == 1:
            raise failures.exceptions[0] from None
        raise


class _BodyEnded(Exception):  # noqa: N818  cancels the tasks of a group
    pass


@asynccontextmanager
async def background_group() -> AsyncIterator[asyncio.TaskGroup]:
    """A `task_group` whose tasks are cancelled, and waited for, when the body ends."""
    try:
        async with task_group() as group:
            yield group
            raise _BodyEnded
    except* _BodyEnded:
        pass


@overload
async def first_of(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second], /
) -> First | Second: ...
@overload
async def first_of(*works: Coroutine[Any, Any, First]) -> First: ...
async def first_of(*works: Coroutine[Any, Any, object]) -> object:
    """Runs all of them, and returns the result of the one that ends first. The others are cancelled
    and waited for before this returns. Whatever any of them raises is raised here: a single
    exception as it is, several as a group. If two end at the same time, the earlier argument
    counts."""
    async with task_group() as group:
        tasks = [group.create_task(work) for work in works]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        winner = next(task for task in tasks if task.done())
        for task in tasks:
            task.cancel()
    return winner.result()


class Pulse:
    """What a task reports about itself, from any thread. This one drops the reports."""

    def beat(self, for_s: float = 0.0) -> None:
        """The task is working. `for_s`: it waits for something that has a time limit of its own."""

    def rest(self, has_work: Callable[[], bool]) -> None:
        """The task waits for work. `has_work` says whether there is work by now."""


NO_PULSE: Final = Pulse()


class Heartbeat(Pulse):
    """Remembers when a task last reported, and says when it has been silent for too long."""

    def __init__(self, name: str, clock: Clock, silent_s_max: float) -> None:
        self.name = name
        self._clock = clock
        self._silent_s_max = silent_s_max
        self._has_work: Callable[[], bool] | None = None
        self._beat_ns = clock.monotonic_ns()
        self.beats = 0
        self.waits_s = 0.0  # how long it may wait for something, as its last beat said
        # Since its last beat: when the task was first found waiting although there is work.
        self._owed_ns: int | None = None

    def beat(self, for_s: float = 0.0) -> None:
        self._has_work = self._owed_ns = None
        self._beat_ns = self._clock.monotonic_ns()
        self.beats += 1
        self.waits_s = for_s

    def rest(self, has_work: Callable[[], bool]) -> None:
        self.beat()
        self._has_work = has_work

    @property
    def is_at_work(self) -> bool:
        """Whether the task has something to do, so that it should beat."""
        return self._has_work is None or self._has_work()

    def failing(self) -> str:
        """Why the task counts as dead; empty while it does not."""
        silent_s = self._silent_ns(self._clock.monotonic_ns()) / NANOSECONDS
        if silent_s <= self._silent_s_max:
            return ""
        return f"has not gone round for {silent_s:.0f} s, {self._silent_s_max:.0f} s are allowed"

    def _silent_ns(self, now_ns: int) -> int:
        if self._has_work is None:
            return now_ns - self._beat_ns
        if not self._has_work():
            self._owed_ns = None
            return 0
        if self._owed_ns is None:
            self._owed_ns = now_ns
        return now_ns - self._owed_ns


class Heartbeats:
    """The heartbeats of all tasks, in the order in which the tasks began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_name: dict[str, Heartbeat] = {}

    def of(self, name: str, silent_s_max: float) -> Heartbeat:
        """The heartbeat of a task that begins now."""
        heartbeat = Heartbeat(name, self._clock, silent_s_max)
        self.add(heartbeat)
        return heartbeat

    def add(self, heartbeat: Heartbeat) -> None:
        """Adds the heartbeat of a task that was made before and begins now."""
        heartbeat.beat()
        self._by_name[heartbeat.name] = heartbeat

    def forget(self, name: str) -> None:
        """Drops the heartbeat of a task that kpolicy itself ended."""
        self._by_name.pop(name, None)

    def __iter__(self) -> Iterator[Heartbeat]:
        return iter(tuple(self._by_name.values()))
