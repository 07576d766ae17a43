"""The long tasks of a run: their names, how long each may be silent, and the small ones themselves.

All live in one task group; none of them may end before the group does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.cluster.limits import OUTBOX_SILENT_S_MAX
from kpolicy.heartbeat import NO_PULSE, Heartbeats, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.cycle import Cycle
from kpolicy.scheduler.loop.engine_sink import EngineSink
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.wiring import Parts
from kpolicy.telemetry.metrics import Histogram
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

_log = logging.getLogger(__name__)


async def flush_parked(
    queue: Queue,
    cycle: Cycle,
    thread: EngineThread,
    sink: EngineSink,
    pulse: Pulse = NO_PULSE,
    *,
    clock: Clock,
) -> None:
    """The safety net for missed events, and for pods that came when the queue was full."""
    refused = 0
    while True:
        pulse.beat()
        await clock.sleep(limits.FLUSH_PERIOD_S)
        while queue.flush(limits.SLICE_PODS, clock.monotonic_ns()):
            pulse.beat()
            cycle.poke()
            await asyncio.sleep(0)
        statistics = queue.statistics()
        if statistics.refused != refused and queue.room > 0:
            refused = statistics.refused
            await sink.take_pods(await thread.call(thread.engine.pending))


async def measure_lag(clock: Clock, lag_seconds: Histogram, pulse: Pulse = NO_PULSE) -> None:
    quiet_until_ns = 0
    while True:
        pulse.beat()
        began_ns = clock.monotonic_ns()
        await clock.sleep(limits.LAG_PERIOD_S)
        now_ns = clock.monotonic_ns()
        lag_s = max(0.0, (now_ns - began_ns) / NANOSECONDS - limits.LAG_PERIOD_S)
        lag_seconds.observe(lag_s)
        if lag_s > limits.LAG_WARNING_S and now_ns >= quiet_until_ns:
            quiet_until_ns = now_ns + round(limits.LAG_WARNING_PERIOD_S * NANOSECONDS)
            _log.warning("the event loop was held up", extra={"seconds": round(lag_s, 3)})


async def log_summary(
    reporter: Reporter, queue: Queue, clock: Clock, pulse: Pulse = NO_PULSE
) -> None:
    """A line every ten seconds in which something happened; single pods are at level debug."""
    while True:
        pulse.beat()
        await clock.sleep(limits.SUMMARY_PERIOD_S)
        tally = reporter.tally
        if tally.empty():
            continue
        waiting = queue.statistics()
        _log.info(
            "placed %d, parked %d, failed %d",
            tally.placed,
            tally.parked,
            tally.failed,
            extra={
                "active": waiting.active,
                "backoff": waiting.backoff,
                "unschedulable": waiting.parked,
                "gated": waiting.gated,
            },
        )
        tally.placed = tally.parked = tally.failed = 0


Work: TypeAlias = Callable[[Pulse], Coroutine[Any, Any, None]]


class Tasks:
    def __init__(self, group: asyncio.TaskGroup, heartbeats: Heartbeats) -> None:
        self._group = group
        self._heartbeats = heartbeats

    def begin(self, run: Work, name: str, silent_s_max: float = limits.TASK_SILENT_S_MAX) -> None:
        self._group.create_task(run(self._heartbeats.of(name, silent_s_max)), name=name)


def begin_writing(tasks: Tasks, parts: Parts, metrics: SchedulerMetrics, clock: Clock) -> None:
    tasks.begin(partial(measure_lag, clock, metrics.loop_lag_seconds), "loop-lag")
    tasks.begin(parts.binds.run, "settle")
    tasks.begin(parts.pre_binds.run, "volumes")
    tasks.begin(parts.reporter.events.run, "events", OUTBOX_SILENT_S_MAX)
    tasks.begin(parts.reporter.status.run, "conditions", OUTBOX_SILENT_S_MAX)


def begin_deciding(tasks: Tasks, parts: Parts, cycle: Work, clock: Clock) -> None:
    flush = partial(flush_parked, parts.queue, parts.cycle, parts.thread, parts.sink, clock=clock)
    tasks.begin(cycle, "cycle")
    tasks.begin(parts.extended.run, "extenders")
    tasks.begin(flush, "flush")
    tasks.begin(partial(log_summary, parts.reporter, parts.queue, clock), "summary")
