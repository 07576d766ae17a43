"""What the parts of a running scheduler share: the `Runtime`, the engine's thread, their tasks.

All is made once, where the process begins, and handed on. Nobody else makes a clock, a registry of
metrics or a source of random numbers: a simulation provides them from a seed.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock, Heartbeats, Pulse
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.lease import Elector, LeaseThread
from kpolicy.engine import Engine, Refusal, Timings
from kpolicy.plugins.thread import MakeThread, PluginThread
from kpolicy.scheduler import limits
from kpolicy.scheduler.vitals import Vitals
from kpolicy.telemetry.metrics import Buckets, Labels
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


# Called in the engine's thread with each call: name, arguments, options, and the answer or the
# exception.
Witness: TypeAlias = Callable[[str, tuple[Any, ...], Mapping[str, Any], Any], None]


class EngineThread:
    """Runs the engine's calls, and observes how long each takes."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        metrics: SchedulerMetrics,
        *,
        witnesses: Sequence[Witness] = (),
    ) -> None:
        self.engine = engine
        self.statistics = EngineStatistics(self, metrics)
        self._clock = clock
        self._seconds = metrics.engine_call_seconds
        self._witnesses = witnesses
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="kpolicy-engine")
        self._busy_since_ns = 0
        self._waiting = 0  # calls whose caller still waits
        self._begun = 0

    async def call(
        self,
        function: Callable[Parameters, Answer],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Answer:
        name = getattr(function, "__name__", "call")

        def run() -> tuple[Answer, int]:
            began_ns = self._busy_since_ns = self._clock.monotonic_ns()
            try:
                try:
                    answer = function(*arguments, **options)
                except Exception as error:
                    for witness in self._witnesses:
                        witness(name, arguments, options, error)
                    raise
                for witness in self._witnesses:
                    witness(name, arguments, options, answer)
            finally:
                self._busy_since_ns = 0
            return answer, self._clock.monotonic_ns() - began_ns

        answer, took_ns = await self._run(run)
        self._seconds.observe(took_ns / NANOSECONDS, (name,))
        return answer

    async def ping(self) -> None:
        """Returns when the thread has done all calls so far."""
        await self._run(lambda: None)

    async def _run(self, function: Callable[[], Answer]) -> Answer:
        def run() -> Answer:
            self._begun += 1
            return function()

        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, run)
        finally:
            self._waiting -= 1

    def progress(self) -> tuple[int, int] | None:
        """The number of the call under way, and a counter that grows while it works; None without
        calls. May be read from any thread: no call and no lock is waited for."""
        return (self._begun, self.engine.beats()) if self._waiting else None

    def busy_s(self) -> float:
        """How long the call under way has been running."""
        since_ns = self._busy_since_ns
        return (self._clock.monotonic_ns() - since_ns) / NANOSECONDS if since_ns else 0.0

    def stop(self) -> None:
        """Drops the calls that wait. The call that runs ends by itself."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class EngineStatistics:
    """Sizes, counts and timings of the engine, as they were at the last `refresh`.

    With each program, the engine counts from zero, but metrics may only go up. Therefore the
    counts of a program are read before the next program is loaded."""

    def __init__(self, thread: EngineThread, metrics: SchedulerMetrics) -> None:
        self._thread = thread
        self._metrics = metrics
        self._answer: Mapping[str, Any] = {}
        self._timings = Timings([], [])
        # By rule of the program in force: how much of its counts the metrics already contain.
        self._counted: Mapping[str, Mapping[str, int]] = {}

    async def refresh(self) -> None:
        self._answer = json.loads(await self._thread.call(self._thread.engine.statistics))
        rules: Mapping[str, Mapping[str, int]] = self._answer.get("rules", {})
        for key, counts in rules.items():
            profile, _, rule = key.rpartition("/")
            before = self._counted.get(key, {})
            for counter, name in (
                (self._metrics.rule_errors, "errors"),
                (self._metrics.rule_cost_exceeded, "costExceeded"),
                (self._metrics.rule_clamped, "clamped"),
                (self._metrics.rule_audited, "audited"),
            ):
                label = self._metrics.rule_labels.of(rule)
                counter.add((profile, label), counts[name] - before.get(name, 0))
        self._counted = rules
        self._timings = await self._thread.call(self._thread.engine.timings)

    async def load(self, program: bytes) -> list[Refusal]:
        """Loads a program between two decisions, and keeps the counts of the program before."""
        await self.refresh()
        refusals = await self._thread.call(self._thread.engine.load, program)
        if not refusals:
            self._counted = {}
        return refusals

    def stages(self) -> dict[Labels, Buckets]:
        """By extension point, status and profile."""
        return {(s.point, s.status, s.name): (s.counts, s.seconds) for s in self._timings.stages}

    def plugins(self) -> dict[Labels, Buckets]:
        """By plugin, extension point and status."""
        return {(s.name, s.point, s.status): (s.counts, s.seconds) for s in self._timings.rules}

    def cache(self) -> dict[Labels, float]:
        names = (("nodes", "nodes"), ("pods", "pods"), ("podsAssumed", "assumed_pods"))
        return {(label,): self._answer.get(name, 0) for name, label in names}

    def tenants(self, field: str) -> dict[Labels, float]:
        """A figure of each tenant, while a policy orders the queue or holds pods."""
        tenants: Mapping[str, Mapping[str, float]] = self._answer.get("tenants", {})
        return {(tenant,): figures[field] for tenant, figures in tenants.items()}

    def sizes(self) -> dict[Labels, float]:
        return {
            (name,): value for name, value in self._answer.items() if isinstance(value, int | float)
        }


LongTask: TypeAlias = Callable[[Pulse], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Runtime:
    clock: Clock
    engine: EngineThread
    metrics: SchedulerMetrics
    traces: Traces
    random: Random
    vitals: Vitals = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vitals", Vitals(self.clock, self.engine))


class Tasks:
    """Starts long tasks, each with a heartbeat, in one group: if one of them fails, all end."""

    def __init__(self, group: asyncio.TaskGroup, heartbeats: Heartbeats, vitals: Vitals) -> None:
        self.group = group
        self.heartbeats = heartbeats
        self.vitals = vitals

    def begin(
        self,
        run: LongTask,
        name: str,
        silent_s_max: float = limits.TASK_SILENT_S_MAX,
        *,
        is_vital: bool = False,
    ) -> asyncio.Task[None]:
        """`is_vital`: while it hangs, this replica must not lead."""
        heartbeat = self.heartbeats.of(name, silent_s_max)
        if is_vital:
            self.vitals.add(heartbeat)
        return self.group.create_task(run(heartbeat), name=name)

    def end(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        self.heartbeats.forget(task.get_name())
        self.vitals.forget(task.get_name())


class ElectorThread(Protocol):
    def start(self) -> None: ...

    def stop(self, timeout_s: float) -> bool:
        """Release the lease and end; false when that took too long. Blocks."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The real machine by default. `run_id` is unique to this run. It ends the identity in the
    lease and begins every decision id, so that a bind can be traced to the replica that led."""

    host_name: str = field(default_factory=socket.gethostname)
    process_id: int = field(default_factory=os.getpid)
    random: Random = field(default_factory=Random)
    elector_thread: Callable[[ApiClient, Elector, Callable[[], None]], ElectorThread] = LeaseThread
    plugin_thread: MakeThread = PluginThread
    run_id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run_id", f"{self.random.getrandbits(32):08x}")

    @property
    def identity(self) -> str:
        return f"{self.host_name}_{self.process_id}_{self.run_id}"
