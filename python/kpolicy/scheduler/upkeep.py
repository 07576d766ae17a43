"""What runs beside the cycle at its own pace: flush, loop lag, the summary in the log.

Owns these loops. Each is a task that ends only when cancelled. Must not decide: the queue does.
"""

from __future__ import annotations

import asyncio
import logging

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.cycle import Cycle
from kpolicy.scheduler.engine_port import EngineThread
from kpolicy.scheduler.queue import Queue
from kpolicy.scheduler.report import Reporter
from kpolicy.scheduler.sink import EngineSink
from kpolicy.telemetry.metrics import Histogram

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
