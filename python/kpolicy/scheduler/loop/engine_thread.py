"""The one thread that calls the engine, how long its calls take, and the engine's own statistics.

Calls are answered in the order in which they were made, and their answers reach the event loop in
that order: a pod parked by a decision is in the queue before a later event wakes it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, Protocol, TypeVar

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.engine import (
    Applied,
    AwaitedVolume,
    Candidates,
    Decision,
    Filtered,
    KeptNode,
    LeftRoom,
    Located,
    PodChange,
    Refusal,
    RefusedNode,
    Scheduled,
    Timings,
    VolumeProgress,
    Wake,
)
from kpolicy.telemetry.metrics import Buckets, Labels
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


class EnginePort(Protocol):
    """`kpolicy.engine.Engine`, or what a test puts in its place."""

    def load(self, program: bytes) -> list[Refusal]: ...
    def program_hash(self) -> str: ...
    def resources(self) -> list[str]: ...
    def stale(self) -> list[str]: ...
    def list_begin(self, resource: str) -> None: ...
    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied: ...
    def list_end(self, resource: str, now_ns: int) -> Applied: ...
    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied: ...
    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled: ...
    def volumes(self, awaited: Sequence[AwaitedVolume]) -> list[VolumeProgress]: ...
    def requested(self, uids: Sequence[str], resources: Sequence[str]) -> list[list[str]]: ...
    def filter(self, uid: str, now_ns: int) -> Filtered: ...
    def choose(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
    ) -> Decision: ...
    def candidates(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
    ) -> Candidates: ...
    def preempt(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
        *,
        left: LeftRoom,
    ) -> Decision: ...
    def located(self, uids: Sequence[str]) -> list[Located]: ...
    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]: ...
    def settle_room(
        self, uid: str, evicted: Sequence[str], now_ns: int, *, is_made: bool
    ) -> list[Wake]: ...
    def message(self, uid: str) -> str: ...
    def pending(self) -> list[PodChange]: ...
    def holdings(self) -> bytes: ...
    def explain(self, request: bytes, now_ns: int) -> bytes: ...
    def statistics(self) -> bytes: ...
    def timings(self) -> Timings: ...


class EngineThread:
    """`timed` hears of each call: its name, and how long the engine took."""

    def __init__(
        self, engine: EnginePort, clock: Clock, timed: Callable[[str, float], None]
    ) -> None:
        self.engine = engine
        self._clock = clock
        self._timed = timed
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="kpolicy-engine")
        self._busy_since_ns = 0

    async def call(
        self,
        function: Callable[Parameters, Answer],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Answer:
        def run() -> tuple[Answer, int]:
            began_ns = self._busy_since_ns = self._clock.monotonic_ns()
            try:
                answer = function(*arguments, **options)
            finally:
                self._busy_since_ns = 0
            return answer, self._clock.monotonic_ns() - began_ns

        answer, took_ns = await asyncio.get_running_loop().run_in_executor(self._executor, run)
        self._timed(getattr(function, "__name__", "call"), took_ns / NANOSECONDS)
        return answer

    def busy_s(self) -> float:
        """How long the call under way has been."""
        since_ns = self._busy_since_ns
        return (self._clock.monotonic_ns() - since_ns) / NANOSECONDS if since_ns else 0.0

    def stop(self) -> None:
        """What waits is dropped; what runs ends by itself."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class EngineStatistics:
    """As they were when last asked for."""

    def __init__(self, thread: EngineThread, metrics: SchedulerMetrics) -> None:
        self._thread = thread
        self._metrics = metrics
        self._told: Mapping[str, Any] = {}
        self._timings = Timings([], [])
        # By rule of the program in force: what of it is in our counters.
        self._counted: Mapping[str, Mapping[str, int]] = {}

    async def refresh(self) -> None:
        self._told = json.loads(await self._thread.call(self._thread.engine.statistics))
        rules: Mapping[str, Mapping[str, int]] = self._told.get("rules", {})
        for key, counts in rules.items():
            profile, _, rule = key.rpartition("/")
            before = self._counted.get(key, {})
            for counter, name in (
                (self._metrics.rule_errors, "errors"),
                (self._metrics.rule_cost_exceeded, "costExceeded"),
                (self._metrics.rule_clamped, "clamped"),
                (self._metrics.rule_audited, "audited"),
            ):
                counter.add((profile, rule), counts[name] - before.get(name, 0))
        self._counted = rules
        self._timings = await self._thread.call(self._thread.engine.timings)

    def begin_program(self) -> None:
        """The engine counts from nothing."""
        self._counted = {}

    def stages(self) -> dict[Labels, Buckets]:
        """By extension point, status and profile."""
        series = self._timings.stages
        return {(one.point, one.status, one.name): (one.counts, one.seconds) for one in series}

    def plugins(self) -> dict[Labels, Buckets]:
        """By plugin, extension point and status."""
        series = self._timings.rules
        return {(one.name, one.point, one.status): (one.counts, one.seconds) for one in series}

    def cache(self) -> dict[Labels, float]:
        names = (("nodes", "nodes"), ("pods", "pods"), ("podsAssumed", "assumed_pods"))
        return {(label,): self._told.get(name, 0) for name, label in names}

    def sizes(self) -> dict[Labels, float]:
        return {
            (name,): value for name, value in self._told.items() if isinstance(value, int | float)
        }
