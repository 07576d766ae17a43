"""The way out: what a run still does when it is told to stop, and what is said where it died.

Owns the order and the shares of the time. Assumes that nothing begins any more. Telemetry is
flushed by whoever owns it, after this: the lease must not wait for a collector.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from kpolicy.scheduler import limits
from kpolicy.scheduler.leadership import Leadership
from kpolicy.scheduler.parts import Parts
from kpolicy.scheduler.problem import FINDINGS, TASK_DIED, Problem

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
        _log.warning("stopped with %d binds under way", parts.binds.under_way)
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
