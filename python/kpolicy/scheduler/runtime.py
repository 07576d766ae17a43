"""What the parts of a running scheduler share: the `Runtime`, their long tasks, and the `Machine`.

All three are made once, where the process begins, and handed on. Nobody else makes a clock, a
registry of metrics or a source of random numbers: a simulation provides them from a seed.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeAlias

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.lease import Elector, LeaseThread
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


class ElectorThread(Protocol):
    def start(self) -> None: ...

    def stop(self, timeout_s: float) -> bool:
        """Release the lease and end; false when that took too long. Blocks."""


ElectorThreads: TypeAlias = Callable[[ApiClient, Elector, Callable[[], None]], ElectorThread]


@dataclass(frozen=True, slots=True)
class Machine:
    """The real one by default. `run_id` tells this run from all others: it ends the identity in the
    lease and begins every decision id, so that a bind can be traced to who led."""

    host_name: str = field(default_factory=socket.gethostname)
    process_id: int = field(default_factory=os.getpid)
    random: Random = field(default_factory=Random)
    elector_thread: ElectorThreads = LeaseThread
    run_id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run_id", f"{self.random.getrandbits(32):08x}")

    @property
    def identity(self) -> str:
        return f"{self.host_name}_{self.process_id}_{self.run_id}"
