"""The parts of a scheduler, wired.

Owns the one place that knows all of them. Assumes the running loop they will live on. Must not run
anything: `run` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.patience import Patience
from kpolicy.cluster.writes.binder import Binder
from kpolicy.cluster.writes.event_recorder import EventRecorder
from kpolicy.cluster.writes.evictor import Evictor
from kpolicy.cluster.writes.pod_status import PodStatusWriter
from kpolicy.cluster.writes.volume_writer import VolumeWriter
from kpolicy.heartbeat import Heartbeats
from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.binding.reservations import Unsent
from kpolicy.scheduler.extenders.extended_pods import ExtendedPods
from kpolicy.scheduler.extenders.extender_binds import ExtenderBinds
from kpolicy.scheduler.extenders.in_force import ExtendersInForce
from kpolicy.scheduler.extenders.two_steps import TwoSteps
from kpolicy.scheduler.extenders.whole_objects import FreshPods, WholeNodes
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.cycle import Cycle
from kpolicy.scheduler.loop.engine_sink import EngineSink
from kpolicy.scheduler.loop.engine_thread import EnginePort, EngineStatistics, EngineThread
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.reload import Compile, Reloader
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.machine import Machine
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.serving.comparer import Comparer
from kpolicy.scheduler.serving.observed import (
    observe_comparer,
    observe_engine,
    observe_extenders,
    observe_informers,
    observe_preemptions,
    observe_queue,
    observe_writes,
)
from kpolicy.scheduler.volumes.pre_binds import Nominations, PreBinds
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces


@dataclass(frozen=True, slots=True)
class Parts:
    queue: Queue
    thread: EngineThread
    sink: EngineSink
    informers: Informers
    reporter: Reporter
    pre_binds: PreBinds
    binds: Binds
    preemptions: Preemptions
    extended: ExtendedPods
    cycle: Cycle
    reloader: Reloader
    statistics: EngineStatistics
    comparer: Comparer


@dataclass(frozen=True, slots=True)
class Given:
    """What comes from outside."""

    client: ApiClient
    engine: EnginePort
    compile: Compile
    options: Options
    clock: Clock
    machine: Machine
    metrics: SchedulerMetrics
    traces: Traces
    fence: Callable[[], bool]
    patience: Patience
    heartbeats: Heartbeats


@dataclass(frozen=True, slots=True)
class Work:
    """Told by parts that are made before those who wait for it."""

    to_decide: asyncio.Event
    to_ask_about: asyncio.Event

    def came(self) -> None:
        self.to_decide.set()
        self.to_ask_about.set()


def wire(given: Given, group: asyncio.TaskGroup) -> Parts:
    clock, metrics, client = given.clock, given.metrics, given.client
    work = Work(asyncio.Event(), asyncio.Event())

    thread = EngineThread(
        given.engine,
        clock,
        lambda call, seconds: metrics.engine_call_seconds.observe(seconds, (call,)),
    )
    events = EventRecorder(client, clock, instance=f"kpolicy-{given.machine.host_name}")
    status = PodStatusWriter(client, clock)
    reporter = Reporter(clock, events, status, metrics, given.traces, given.machine.run_id)
    queue = Queue()
    nominations = Nominations(status, clock, given.fence)
    pre_binds = PreBinds(VolumeWriter(client, clock, given.fence), nominations, thread, clock)
    unsent = Unsent()
    sink = EngineSink(
        thread,
        queue,
        clock,
        on_work=work.came,
        on_left=reporter.left,
        on_heard=pre_binds.heard,
        unsent=unsent,
    )
    random = given.machine.random
    extender_binds = ExtenderBinds(Binder(client, clock, given.fence), client, clock, given.fence)
    binds = Binds(
        extender_binds,
        thread,
        queue,
        sink,
        reporter,
        pre_binder=pre_binds,
        clock=clock,
        on_work=work.came,
        is_bound_elsewhere=extender_binds.expects,
        in_flight_max=given.options.binds_in_flight_max,
        unsent=unsent,
    )
    events.give_way(while_=binds.is_full)
    informers = Informers(
        client,
        sink,
        clock,
        random,
        group,
        patience=given.patience,
        heartbeats=given.heartbeats,
        in_use=lambda: binds.awaiting_volumes > 0,
    )
    preemptions = Preemptions(
        Evictor(client, clock, given.fence),
        thread,
        queue,
        sink,
        reporter,
        withdraw=binds.withdraw,
        clock=clock,
        on_work=work.came,
    )
    consequences = Consequences(binds, preemptions, reporter)
    in_force, between = ExtendersInForce(clock, group), asyncio.Lock()
    nodes = WholeNodes(client, clock, given.machine.random, group, heartbeats=given.heartbeats)
    extended = ExtendedPods(
        thread,
        queue,
        in_force,
        TwoSteps(thread, FreshPods(client), nodes, clock),
        consequences,
        binds=extender_binds,
        clock=clock,
        between=between,
        group=group,
        work=work.to_ask_about,
        begin=reporter.begin,
        on_work=work.came,
    )
    cycle = Cycle(
        thread,
        queue,
        consequences,
        metrics,
        clock=clock,
        extended=extended,
        between=between,
        work=work.to_decide,
    )
    statistics = EngineStatistics(thread, metrics)
    reloader = Reloader(
        given.compile,
        thread,
        queue,
        sink,
        cycle,
        metrics,
        clock,
        informers.ensure,
        in_force,
        statistics,
    )
    reporter.policies = reloader.policies
    observe_queue(metrics, queue)
    observe_informers(metrics, informers, sink)
    observe_writes(metrics, client, binds, reporter)
    observe_preemptions(metrics, preemptions)
    observe_engine(metrics, statistics)
    observe_extenders(metrics, in_force, extended)
    comparer = Comparer(client, thread, queue, sink, clock, group=group)
    observe_comparer(metrics, comparer)
    return Parts(
        queue,
        thread,
        sink,
        informers,
        reporter,
        pre_binds,
        binds,
        preemptions,
        extended,
        cycle,
        reloader,
        statistics,
        comparer,
    )
