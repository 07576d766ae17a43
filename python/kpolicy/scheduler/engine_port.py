"""What the scheduler needs of the engine, and the one thread that calls it.

Owns the thread and the durations of its calls. Calls are answered in the order in which they were
made, and their answers reach the loop in that order: a pod parked by a decision is in the queue
before a later delta wakes it. The GIL is free during a call. Must not know what is decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

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
