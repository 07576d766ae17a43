"""Makes the parts of a scheduler and connects them. Nothing runs yet: `process` starts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.probe import Patience
from kpolicy.cluster.writes.binder import Binder
from kpolicy.cluster.writes.event_recorder import EventRecorder
from kpolicy.cluster.writes.evictor import Evictor
from kpolicy.cluster.writes.pod_status import PodStatusWriter
from kpolicy.cluster.writes.volume_writer import VolumeWriter
from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.binding.pre_binds import Nominations, PreBinds
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.extenders.extended_pods import ExtendedPods, TwoSteps
from kpolicy.scheduler.extenders.in_force import ExtenderBinds, ExtendersInForce
from kpolicy.scheduler.extenders.whole_objects import FreshPods, WholeNodes
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.cycle import Cycle
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EngineSink, QueueFeed, Signals
from kpolicy.scheduler.loop.reload import Compile, Reloader
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.runtime import Machine, Runtime, Tasks
from kpolicy.scheduler.serving.comparer import Comparer


@dataclass(frozen=True, slots=True)
class Parts:
    feed: QueueFeed
    reservations: Reservations
    sink: EngineSink
    informers: Informers
    reporter: Reporter
    pre_binds: PreBinds
    binds: Binds
    preemptions: Preemptions
    extended: ExtendedPods
    cycle: Cycle
    reloader: Reloader
    comparer: Comparer


@dataclass(frozen=True, slots=True)
class Setting:
    """Values that the process decides before its parts are made. `fence` is true while this replica
    may act as the leader."""

    compile: Compile
    options: Options
    machine: Machine
    fence: Callable[[], bool]
    patience: Patience


def wire(client: ApiClient, runtime: Runtime, tasks: Tasks, setting: Setting) -> Parts:
    clock, fence = runtime.clock, setting.fence
    signals = Signals()
    status = PodStatusWriter(client, clock)
    feed = QueueFeed(Queue(), clock, signals, on_left=status.forget)
    reservations = Reservations(setting.options.binds_in_flight_max, signals.work_came)
    instance = f"kpolicy-{setting.machine.host_name}"
    events = EventRecorder(client, clock, instance, gives_way=reservations.is_full)
    nominations = Nominations(status, clock, fence)
    volumes = VolumeWriter(client, clock, fence)
    pre_binds = PreBinds(volumes, nominations, runtime.engine, clock)
    sink = EngineSink(runtime, feed, reservations, on_heard=pre_binds.resource_changed)
    informers = Informers(
        client,
        sink,
        runtime,
        tasks,
        patience=setting.patience,
        in_use=lambda: reservations.awaiting_volumes > 0,
    )
    in_force = ExtendersInForce(clock, tasks.group)
    reloader = Reloader(
        runtime,
        feed,
        compile_with=setting.compile,
        watch=informers.ensure,
        extenders=in_force,
    )
    reporter = Reporter(
        runtime,
        feed.queue,
        events=events,
        status=status,
        run_id=setting.machine.run_id,
        policies=reloader.policies,
    )
    extender_binds = ExtenderBinds(Binder(client, clock, fence), client, clock, fence)
    binds = Binds(
        runtime, feed, reservations, reporter, binder=extender_binds, pre_binder=pre_binds
    )
    evictor = Evictor(client, clock, fence)
    preemptions = Preemptions(runtime, feed, reservations, reporter, evictor=evictor)
    consequences = Consequences(
        runtime, reservations, reporter, binds=binds, preemptions=preemptions
    )
    nodes = WholeNodes(client, clock, runtime.random, tasks)
    extended = ExtendedPods(
        runtime,
        feed,
        consequences,
        in_force=in_force,
        two_steps=TwoSteps(runtime.engine, FreshPods(client), nodes, clock),
        binds=extender_binds,
    )
    comparer = Comparer(client, runtime, feed, tasks.group)
    return Parts(
        feed=feed,
        reservations=reservations,
        sink=sink,
        informers=informers,
        reporter=reporter,
        pre_binds=pre_binds,
        binds=binds,
        preemptions=preemptions,
        extended=extended,
        cycle=Cycle(runtime, feed, consequences, extended=extended),
        reloader=reloader,
        comparer=comparer,
    )
