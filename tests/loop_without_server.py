"""The scheduler's own sink, queue, cycle and binds, connected without an API server.

A stand-in for its writers binds at once; the caller confirms each bind by the watch. Benchmarks and
the simulation of many pods stand on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from kpolicy.clock import Clock, Pulse
from kpolicy.cluster.writes.binder import Binding, BindOutcome, Bound, Unknown
from kpolicy.engine import Decision, Engine
from kpolicy.scheduler.binding.binds import Binds, BindSteps
from kpolicy.scheduler.binding.reservations import BindEnd, Reservation, Reservations
from kpolicy.scheduler.limits import BINDS_IN_FLIGHT_MAX
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.cycle import Cycle
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EVERY_PROFILE, EngineSink, QueueFeed, Signals
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.runtime import EngineThread, Runtime, Witness
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces


class WritesAtOnce:
    """Binds at once, and records what the watch must confirm. Events and conditions are dropped.
    Pods have no volumes, and all fit, so that none is evicted."""

    def __init__(self) -> None:
        self.waiting: list[Binding] = []
        self.came = asyncio.Event()

    async def bind(
        self, binding: Binding, traceparent: str | None = None, *, pulse: Pulse
    ) -> BindOutcome:
        pulse.beat()
        self.waiting.append(binding)
        self.came.set()
        return Bound()

    async def settle(
        self,
        binding: Binding,
        doubt: Unknown,
        traceparent: str | None = None,
        *,
        may_send: bool = True,
    ) -> BindOutcome:
        raise AssertionError("nothing is in doubt here")

    def is_by_extender(self, uid: str) -> bool:
        return False

    async def pre_bind(
        self, pod: Attempt, decision: Decision, reservation: Reservation
    ) -> BindEnd | None:
        return None

    def scheduled(self, *_: object, **__: object) -> None:
        pass

    failed_scheduling = set = forget = scheduled


@dataclass(frozen=True, slots=True)
class Loop:
    """Run `binds` and `cycle` as tasks, and stop `thread` at the end."""

    thread: EngineThread
    queue: Queue
    reservations: Reservations
    sink: EngineSink
    binds: Binds
    cycle: Cycle


def loop_of(
    engine: Engine,
    clock: Clock,
    api: WritesAtOnce,
    *,
    run_id: str,
    on_left: Callable[[str], None] = lambda uid: None,
    witnesses: Sequence[Witness] = (),
) -> Loop:
    """A loop that serves the pods of every schedulerName. `on_left` hears of pods that leave the
    queue, and `witnesses` of the engine's calls."""
    metrics, signals = SchedulerMetrics(), Signals()
    thread = EngineThread(engine, clock, metrics, witnesses=witnesses)
    runtime = Runtime(clock, thread, metrics, Traces(), Random(1))
    feed = QueueFeed(Queue(on_left=on_left), clock, signals)
    feed.serve(frozenset({EVERY_PROFILE}))
    reporter = Reporter(
        runtime,
        feed.queue,
        events=api,  # type: ignore[arg-type]
        status=api,  # type: ignore[arg-type]
        run_id=run_id,
        policies=tuple,
    )
    reservations = Reservations(BINDS_IN_FLIGHT_MAX, signals.work_came)
    sink = EngineSink(runtime, feed, reservations, on_heard=lambda resource: None)
    steps = BindSteps(api, api)  # type: ignore[arg-type]
    binds = Binds(runtime, feed, reservations, reporter, steps)
    preemptions = Preemptions(
        runtime,
        feed,
        reservations,
        reporter,
        evictor=api,  # type: ignore[arg-type]
    )
    consequences = Consequences(
        runtime,
        reservations,
        reporter,
        binds=binds,
        preemptions=preemptions,
        claims=api,  # type: ignore[arg-type]
    )
    cycle = Cycle(runtime, feed, consequences, extended=None)
    return Loop(thread, feed.queue, reservations, sink, binds, cycle)
