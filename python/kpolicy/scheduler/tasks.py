"""The long tasks of a run: which there are, under what name they beat, how long one may be silent.

Owns that list, in two parts: what writes and waits from the start, and what decides once we lead.
All live in one group: none may die alone. Must not know what any of them does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from kpolicy.clock import Clock
from kpolicy.cluster.limits import OUTBOX_SILENT_S_MAX
from kpolicy.heartbeat import Heartbeats, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.parts import Parts
from kpolicy.scheduler.upkeep import flush_parked, log_summary, measure_lag
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

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
