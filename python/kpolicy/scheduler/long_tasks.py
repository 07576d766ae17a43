"""The long tasks of a run: their names, how long each may be silent, and the small ones themselves.

All live in one task group; none of them may end before the group does.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.cluster.limits import OUTBOX_SILENT_S_MAX
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.runtime import LongTask, Runtime, Tasks
from kpolicy.scheduler.wiring import Parts
from kpolicy.telemetry.metrics import Histogram

_log = logging.getLogger(__name__)


async def flush_parked(runtime: Runtime, feed: QueueFeed, pulse: Pulse = NO_PULSE) -> None:
    """Tries pods that were parked for too long, and fetches those the queue had no room for."""
    queue, clock, thread, refused = feed.queue, runtime.clock, runtime.engine, 0
    while True:
        pulse.beat()
        await clock.sleep(limits.FLUSH_PERIOD_S)
        while queue.flush(limits.SLICE_PODS, clock.monotonic_ns()):
            pulse.beat()
            feed.signals.work_came()
            await asyncio.sleep(0)
        statistics = queue.statistics()
        if statistics.refused != refused and queue.room > 0:
            refused = statistics.refused
            await feed.take_pods(await thread.call(thread.engine.pending))


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


def begin_writing(tasks: Tasks, parts: Parts, runtime: Runtime) -> None:
    """What writes and waits, from the start on."""
    lag = runtime.metrics.loop_lag_seconds
    tasks.begin(partial(measure_lag, runtime.clock, lag), "loop-lag")
    tasks.begin(parts.binds.run, "settle")
    tasks.begin(parts.pre_binds.run, "volumes")
    tasks.begin(parts.reporter.events.run, "events", OUTBOX_SILENT_S_MAX)
    tasks.begin(parts.reporter.status.run, "conditions", OUTBOX_SILENT_S_MAX)


def begin_deciding(tasks: Tasks, parts: Parts, runtime: Runtime, cycle: LongTask) -> None:
    """What decides, once we lead."""
    tasks.begin(cycle, "cycle")
    tasks.begin(partial(parts.extended.run, tasks.group), "extenders")
    tasks.begin(partial(flush_parked, runtime, parts.feed), "flush")
    tasks.begin(partial(log_summary, parts.reporter, parts.feed.queue, runtime.clock), "summary")
