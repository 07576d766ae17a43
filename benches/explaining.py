"""`/debug/explain` on a large cluster: measures how long it takes, and how long it delays
everything else.

The benchmark asks for the page as the server does, with an engine that holds the cluster. A task on
the same event loop measures its own delay. A bind, a watch or a probe would be delayed as much.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.cli.input_output import progress_bar
from kpolicy.clock import Clock, SystemClock, background_group
from kpolicy.engine import Engine
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.scheduler.limits import PAGE_PERIOD_NS
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.runtime import Answer, EngineThread, Parameters, Runtime
from kpolicy.scheduler.serving.debug_pages import Pages
from kpolicy.telemetry.health_server import Serve
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces

NODES: Final = 5_000
ROUNDS: Final = 5
# A pod that fits everywhere, one that fits nowhere, and one that may evict others.
WORKLOADS: Final = ("basic", "unschedulable", "preemption")
# A page must not delay the event loop for longer, because decisions, watches and probes need it.
HELD_UP_MS_MAX: Final = 50.0
_LOOK_S: Final = 0.001
_IDLE_S: Final = 0.3  # about as long as an answer takes


@dataclass(frozen=True, slots=True)
class Asked:
    workload: str
    output: str
    nodes: int
    answer_bytes: int
    took_ms: float
    engine_ms: float
    held_up_ms: float
    idle_ms: float  # the delay of the event loop before the first request

    def line(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "output": self.output,
            "nodes": self.nodes,
            "bytes": self.answer_bytes,
            "tookMs": round(self.took_ms, 1),
            "engineMs": round(self.engine_ms, 1),
            "heldUpMs": round(self.held_up_ms, 1),
            "idleMs": round(self.idle_ms, 1),
        }


def measure(nodes: int = NODES) -> list[Asked]:
    return asyncio.run(_measure(nodes))


def failures(asked: Sequence[Asked]) -> list[str]:
    return [
        f"{answer.workload} as {answer.output} held the loop up for {answer.held_up_ms:.0f} ms, "
        f"{HELD_UP_MS_MAX:.0f} ms are allowed"
        for answer in asked
        if answer.held_up_ms > HELD_UP_MS_MAX
    ]


def table(asked: Sequence[Asked]) -> list[str]:
    rows = [
        ["workload", "as", "nodes", "answer", "took", "in the engine", "loop held up", "without"]
    ]
    for answer in asked:
        times = (answer.took_ms, answer.engine_ms, answer.held_up_ms, answer.idle_ms)
        size = f"{answer.answer_bytes / 1e6:.2f} MB"
        cells = (f"{answer.nodes:,}", size, *(f"{milliseconds:.1f} ms" for milliseconds in times))
        rows.append([answer.workload, answer.output, *cells])
    lines = columns(rows, right=range(2, 8))
    return [*lines, f"of {ROUNDS} rounds the one that held the loop up least"]


async def _measure(nodes: int) -> list[Asked]:
    found = []
    with progress_bar("explaining") as progress:
        for done, workload in enumerate(WORKLOADS):
            with _asking(workload, nodes) as asking:
                for output in ("text", "json"):
                    rounds = [await asking.ask(output) for _ in range(ROUNDS)]
                    found.append(min(rounds, key=lambda answer: answer.held_up_ms))
            if progress is not None:
                progress(done + 1, len(WORKLOADS))
    return found


@dataclass(slots=True)
class _Asking:
    workload: str
    pod: str
    nodes: int
    explain: Serve
    calls_s: list[float]

    async def ask(self, output: str) -> Asked:
        await asyncio.sleep(PAGE_PERIOD_NS / NANOSECONDS)
        late_ms: list[float] = []
        async with background_group() as group:
            group.create_task(_look(late_ms))
            await asyncio.sleep(_IDLE_S)
            idle_ms = max(late_ms)
            late_ms.clear()
            self.calls_s.clear()
            began_ns = time.perf_counter_ns()
            page = await self.explain({"pod": self.pod, "output": output})
            took_ms = (time.perf_counter_ns() - began_ns) / 1e6
            await asyncio.sleep(2 * _LOOK_S)
        assert page.status == 200, page.text
        return Asked(
            self.workload,
            output,
            self.nodes,
            answer_bytes=len(page.text.encode()),
            took_ms=took_ms,
            engine_ms=sum(self.calls_s) * 1e3,
            held_up_ms=max(late_ms),
            idle_ms=idle_ms,
        )


class _TimedThread(EngineThread):
    """Records how long each call took."""

    def __init__(
        self, engine: Engine, clock: Clock, metrics: SchedulerMetrics, calls_s: list[float]
    ) -> None:
        super().__init__(engine, clock, metrics)
        self._calls_s = calls_s

    async def call(
        self,
        function: Callable[Parameters, Answer],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Answer:
        def timed() -> Answer:
            began_ns = time.perf_counter_ns()
            answer = function(*arguments, **options)
            self._calls_s.append((time.perf_counter_ns() - began_ns) / 1e9)
            return answer

        return await super().call(timed)


@contextmanager
def _asking(workload: str, nodes: int) -> Iterator[_Asking]:
    clock, calls_s = SystemClock(), list[float]()
    engine = Engine(seed=1)
    refusals = engine.load(default_program().bytes)
    assert not refusals, refusals
    for body in generated_cluster.bodies(workload, generated_cluster.Size(nodes, nodes, 1)):
        unreadable = engine.load_objects(body, workload)
        assert not unreadable, unreadable[:1]
    (pod,) = engine.pending()
    metrics = SchedulerMetrics()
    thread = _TimedThread(engine, clock, metrics, calls_s)
    runtime = Runtime(clock, thread, metrics, Traces(), Random(1))
    parts: Any = SimpleNamespace(
        feed=SimpleNamespace(queue=Queue()), informers=SimpleNamespace(synced=True)
    )
    explain = Pages(parts, runtime).served()["/debug/explain"]
    yield _Asking(workload, f"{pod.namespace}/{pod.name}", nodes, explain, calls_s)
    thread.stop()


async def _look(late_ms: list[float]) -> None:
    while True:
        began_ns = time.perf_counter_ns()
        await asyncio.sleep(_LOOK_S)
        late_ms.append((time.perf_counter_ns() - began_ns) / 1e6 - _LOOK_S * 1e3)
