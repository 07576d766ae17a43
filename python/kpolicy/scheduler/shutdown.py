"""The end of a run: the stop signal, the orderly way out, and the report of a task that died.

The whole way out is measured from the first `Stopping.begin`. Telemetry is flushed by its owner
after this: the lease must not wait for a collector.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from kpolicy.clock import NANOSECONDS, Clock, first_of
from kpolicy.scheduler import limits
from kpolicy.scheduler.leadership import Leadership
from kpolicy.scheduler.problem_codes import FINDINGS, TASK_DIED, Problem
from kpolicy.scheduler.wiring import Parts

Result = TypeVar("Result")


class Stopping:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()
        self._began_ns = 0

    def begin(self) -> None:
        self._began_ns = self._began_ns or self._clock.monotonic_ns()
        self._event.set()

    @property
    def has_begun(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        await self._event.wait()

    def left_s(self, of_s: float) -> float:
        """What is left of so many seconds since it began."""
        since_s = (self._clock.monotonic_ns() - self._began_ns) / NANOSECONDS
        return max(0.0, of_s - since_s)

    async def or_stopped(self, work: Coroutine[Any, Any, Result]) -> Result | None:
        """What the work gives, or None when the end was sooner."""
        return await first_of(work, self.wait())


_log = logging.getLogger(__name__)


async def wind_down(
    parts: Parts, leadership: Leadership | None, left_of_s: Callable[[float], float]
) -> None:
    """Stop popping, wait for binds and evictions, release the lease, write what waits. `left_of_s`:
    what is left of so many seconds since the stop began."""
    parts.cycle.stop()
    left_s = left_of_s(limits.STOP_BINDS_S)
    drained, made = await asyncio.gather(parts.binds.drain(left_s), parts.preemptions.drain(left_s))
    if not made:
        _log.warning("stopped with %d preemptions under way", parts.preemptions.under_way)
    if not drained:
        _log.warning("stopped with %d binds under way", parts.reservations.under_way)
    left_s = left_of_s(limits.STOP_S)
    last: list[Awaitable[object]] = [
        parts.reporter.events.drain(min(limits.STOP_WRITES_S, left_s)),
        parts.reporter.status.drain(min(limits.STOP_WRITES_S, left_s)),
    ]
    if leadership is not None:
        seconds_max = max(limits.STOP_LEASE_S_MIN, min(limits.STOP_LEASE_S, left_s))
        last.insert(0, _release(leadership, seconds_max))
    await asyncio.gather(*last)


async def _release(leadership: Leadership, seconds_max: float) -> None:
    if not await leadership.release(seconds_max):
        _log.warning("the lease was not released in time; it will expire")


def died(failures: BaseExceptionGroup[Exception]) -> Problem:
    first: BaseException = failures
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    _log.error("a task of the scheduler died", exc_info=first)
    text = f"a part of the scheduler died: {type(first).__name__}: {first}"
    return Problem(TASK_DIED, text, "a restart is safe; please report it", FINDINGS)
