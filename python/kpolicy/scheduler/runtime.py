"""What the parts of a running scheduler share, and how its long tasks are started.

A `Runtime` is made once, where the process begins, and handed on; nobody makes a clock, a registry
of metrics or a source of chance of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from kpolicy.clock import Clock
from kpolicy.heartbeat import Heartbeats, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces

LongTask: TypeAlias = Callable[[Pulse], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Runtime:
    clock: Clock
    engine: EngineThread
    metrics: SchedulerMetrics
    traces: Traces
    random: Random


class Tasks:
    """Begins long tasks, each with a heartbeat, in one group: if one of them fails, all end."""

    def __init__(self, group: asyncio.TaskGroup, heartbeats: Heartbeats) -> None:
        self.group = group
        self._heartbeats = heartbeats

    def begin(
        self, run: LongTask, name: str, silent_s_max: float = limits.TASK_SILENT_S_MAX
    ) -> asyncio.Task[None]:
        pulse = self._heartbeats.of(name, silent_s_max)
        return self.group.create_task(run(pulse), name=name)

    def end(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        self._heartbeats.forget(task.get_name())
