"""The parts of a scheduler, and the long tasks of a run: how they begin, and the orderly way out.

`wire` makes the parts and connects them; `process` starts them. All tasks but leader election live
in one task group; none of them may end before the group does. The way out is measured from the
first `Stopping.begin`. Telemetry is flushed by its owner after this: the lease must not wait for a
collector.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeVar

from kpolicy.api_times import NANOSECONDS, whole_minute
from kpolicy.clock import NO_PULSE, Clock, Heartbeat, Pulse, first_of
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.lease import Elector
from kpolicy.cluster.lease_record import LeaseLock, LeaseTerms
from kpolicy.cluster.limits import LEASE_SILENT_S_MAX, OUTBOX_SILENT_S_MAX
from kpolicy.cluster.probe import Patience
from kpolicy.cluster.writes.binder import Binder
from kpolicy.cluster.writes.claim_writer import ClaimWriter
from kpolicy.cluster.writes.event_recorder import EventRecorder
from kpolicy.cluster.writes.evictor import Evictor
from kpolicy.cluster.writes.pod_status import PodStatusWriter
from kpolicy.cluster.writes.volume_writer import VolumeWriter
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.binds import Binds, BindSteps
from kpolicy.scheduler.binding.claim_answers import ClaimAnswers
from kpolicy.scheduler.binding.device_claims import DeviceClaims
from kpolicy.scheduler.binding.pre_binds import Nominations, PreBinds
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.extenders.extended_pods import ExtendedPods, FreshPods, TwoSteps, WholeNodes
from kpolicy.scheduler.extenders.in_force import ExtenderBinds, ExtendersInForce
from kpolicy.scheduler.extenders.pod_fields import PodFields, pod_fields
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.cycle import (
    Cycle,
)
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EngineSink, QueueFeed, Signals
from kpolicy.scheduler.loop.reload import Compile, Reloaded, Reloader
from kpolicy.scheduler.loop.reporter import (
    Reporter,
)
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.plugged.host import PluginHost
from kpolicy.scheduler.plugged.placements import PluginPlacements
from kpolicy.scheduler.plugged.plugin_admission import PluginAdmission, PluginWakes
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.problem_codes import FINDINGS, Problem, of_connection
from kpolicy.scheduler.runtime import ElectorThread, LongTask, Machine, Runtime, Tasks
from kpolicy.scheduler.serving.comparer import Comparer
from kpolicy.telemetry.metrics import Histogram


@dataclass(frozen=True, slots=True)
class PluggedParts:
    """Only if there are plugins: without them, none of their steps is entered."""

    host: PluginHost
    admission: PluginAdmission
    wakes: PluginWakes
    placements: PluginPlacements


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
    plugged: PluggedParts | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """Values that the process decides before its parts are made. `fence` is true while this replica
    may act as the leader."""

    compile: Compile
    options: Options
    machine: Machine
    fence: Callable[[], bool]
    patience: Patience
    plugins: PluginHost | None = None


def wire(client: ApiClient, runtime: Runtime, tasks: Tasks, setting: Setting) -> Parts:
    clock, fence = runtime.clock, setting.fence
    signals = Signals()
    status = PodStatusWriter(client, clock)
    reservations = Reservations(setting.options.binds_in_flight_max, signals.work_came)
    host = setting.plugins
    admission = PluginAdmission(host) if host is not None else None
    queue = Queue(
        periods=setting.options.queue_periods(),
        on_left=partial(_all_hear, (status.forget, reservations.pod_left)),
        admission=admission,
    )
    feed = QueueFeed(queue, clock, signals)
    wakes = PluginWakes(host, queue) if host is not None else None
    instance = f"kpolicy-{setting.machine.host_name}"
    events = EventRecorder(client, clock, instance, gives_way=reservations.is_full)
    nominations = Nominations(status, clock, fence)
    volumes = VolumeWriter(client, clock, fence)
    answers = ClaimAnswers(runtime.engine, feed)
    claims = ClaimWriter(client, clock, fence, random=runtime.random, on_answer=answers.take)
    pre_binds = PreBinds(volumes, DeviceClaims(claims, events), nominations, runtime.engine, clock)
    sink = EngineSink(
        runtime, feed, reservations, on_heard=pre_binds.resource_changed, witness=wakes
    )
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
    plugged = plug = None
    if host is not None and admission is not None and wakes is not None:
        placements = PluginPlacements(host, reservations, nominations, extender_binds, fence)
        plug = placements.of
        reloader.subscribe(partial(_plugins_in_force, reloader, host, wakes))
        plugged = PluggedParts(host, admission, wakes, placements)
    steps = BindSteps(pre_binds, extender_binds, plug)
    binds = Binds(runtime, feed, reservations, reporter, steps)
    evictor = Evictor(client, clock, fence)
    preemptions = Preemptions(runtime, feed, reservations, reporter, evictor=evictor)
    consequences = Consequences(
        runtime, reservations, reporter, binds=binds, preemptions=preemptions, claims=claims
    )
    nodes = WholeNodes(client, clock, runtime.random, tasks)
    fields = PodFields(pod_fields(setting.options.extender_pod_fields))
    extended = ExtendedPods(
        runtime,
        feed,
        consequences,
        in_force=in_force,
        two_steps=TwoSteps(runtime.engine, FreshPods(client, fields), nodes, clock),
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
        plugged=plugged,
    )


def _all_hear(listeners: Iterable[Callable[[str], None]], uid: str) -> None:
    for listener in listeners:
        listener(uid)


def _plugins_in_force(
    reloader: Reloader, host: PluginHost, wakes: PluginWakes, _: Reloaded
) -> None:
    if reloader.in_force is not None:
        host.put_in_force(reloader.in_force.program)
        wakes.policy_changed()


class Leadership:
    def __init__(
        self,
        elector: Elector,
        thread: ElectorThread,
        heartbeat: Heartbeat,
        tasks: Tasks,
        on_lost: Callable[[], None],
    ) -> None:
        self._elector = elector
        self._thread = thread
        self._heartbeat = heartbeat
        self._tasks = tasks
        self._on_lost = on_lost
        self._started = False

    def fence(self) -> bool:
        return self._elector.fence()

    async def acquire(self) -> None:
        self._started = True
        self._tasks.heartbeats.add(self._heartbeat)
        self._tasks.begin(self._tasks.vitals.run, "vitals")
        self._thread.start()
        await self._elector.acquired()
        self._tasks.begin(self._guard, "lease-guard")

    async def _guard(self, pulse: Pulse) -> None:
        """Ends the run if the elector, which should do so when the lease is lost, hangs."""
        clock = self._elector.clock
        while self._started:
            pulse.beat()
            await clock.sleep(limits.LEASE_LOST_GRACE_S)
            if self._started and not self.fence():
                await clock.sleep(limits.LEASE_LOST_GRACE_S)
                if self._started and not self.fence():
                    _log.error("the lease has expired, and the elector does not say so")
                    self._on_lost()
                    return

    async def release(self, seconds_max: float) -> bool:
        """Releases the lease for the next leader, if there is time for it."""
        if not self._started:
            return True
        self._started = False
        return await asyncio.to_thread(self._thread.stop, seconds_max)


def elect(
    connection: Connection,
    runtime: Runtime,
    *,
    options: Options,
    machine: Machine,
    on_lost: Callable[[], None],
    tasks: Tasks,
) -> Leadership | Problem:
    """Starts the election; `acquire` then waits until this replica leads."""
    terms = options.lease_terms()
    if not isinstance(terms, LeaseTerms):
        return of_connection(terms)
    clock, name = runtime.clock, options.lease_name
    heartbeat = Heartbeat("lease", clock, LEASE_SILENT_S_MAX)
    client = ApiClient(connection, clock, user_agent="kpolicy-lease", connections_max=1)
    elector = Elector(
        client,
        clock,
        Random(runtime.random.getrandbits(64)),
        terms,
        LeaseLock(options.lease_namespace, name, machine.identity),
        pulse=heartbeat,
    )
    elector.depend_on(runtime.vitals.inability)
    thread = machine.elector_thread(client, elector, on_lost)
    runtime.metrics.watch(
        "leader_election_master_status",
        "gauge",
        "1 while this replica is the leader.",
        lambda: {(name,): int(elector.fence())},
        ("name",),
    )
    return Leadership(elector, thread, heartbeat, tasks, on_lost)


_log = logging.getLogger(__name__)


async def flush_parked(runtime: Runtime, feed: QueueFeed, pulse: Pulse = NO_PULSE) -> None:
    """Tries pods that were parked for too long, and fetches the pods for which the queue had no
    room."""
    queue, clock, thread, refused = feed.queue, runtime.clock, runtime.engine, 0
    while True:
        pulse.beat()
        await clock.sleep(queue.periods.flush_period_s)
        while queue.flush(limits.SLICE_PODS, clock.monotonic_ns()):
            pulse.beat()
            feed.signals.work_came()
            await asyncio.sleep(0)
        statistics = queue.statistics()
        if statistics.refused != refused and queue.room > 0:
            refused = statistics.refused
            await feed.take_pods(await thread.call(thread.engine.pending))


async def follow_time(runtime: Runtime, feed: QueueFeed, pulse: Pulse = NO_PULSE) -> None:
    """Tells the engine each minute that time passed, and tries the pods that this may let
    through. Rules see whole minutes, so that no window opens or closes in between."""
    clock, thread = runtime.clock, runtime.engine
    while True:
        pulse.beat()
        passed = await thread.call(thread.engine.pass_time, clock.now_ns())
        await feed.take_wakes(passed.wakes)
        # By the wall clock, which may be set meanwhile: after a minute it is looked at again.
        now_ns = clock.now_ns()
        left_s = limits.MINUTE_S - (now_ns - whole_minute(now_ns)) / NANOSECONDS
        await clock.sleep(max(left_s, limits.TIME_PERIOD_S_MIN))


async def measure_lag(clock: Clock, lag_seconds: Histogram, pulse: Pulse = NO_PULSE) -> None:
    quiet_until_ns = 0
    while True:
        pulse.beat()
        began_ns = clock.monotonic_ns()
        await clock.sleep(limits.LAG_PERIOD_S)
        now_ns = clock.monotonic_ns()
        lag_s = max(0.0, (now_ns - began_ns) / NANOSECONDS - limits.LAG_PERIOD_S)
        lag_seconds.observe(lag_s)
        if lag_s > limits.LAG_WARNING_S and now_ns >= quiet_until_ns:
            quiet_until_ns = now_ns + round(limits.LAG_WARNING_PERIOD_S * NANOSECONDS)
            _log.warning("the event loop was held up", extra={"seconds": round(lag_s, 3)})


async def log_summary(
    reporter: Reporter, queue: Queue, clock: Clock, pulse: Pulse = NO_PULSE
) -> None:
    """Logs one line for each ten seconds in which something happened. Single pods are logged at
    level debug."""
    while True:
        pulse.beat()
        await clock.sleep(limits.SUMMARY_PERIOD_S)
        tally = reporter.tally
        if not tally:
            continue
        waiting = queue.statistics()
        _log.info(
            "placed %d, parked %d, failed %d",
            tally["placed"],
            tally["parked"],
            tally["failed"],
            extra={
                "active": waiting.active,
                "backoff": waiting.backoff,
                "unschedulable": waiting.parked,
                "gated": waiting.gated,
            },
        )
        tally.clear()


def begin_writing(tasks: Tasks, parts: Parts, runtime: Runtime) -> None:
    """Starts the tasks that write and wait, which run from the start on."""
    lag = runtime.metrics.loop_lag_seconds
    tasks.begin(partial(measure_lag, runtime.clock, lag), "loop-lag")
    tasks.begin(parts.binds.run, "settle", is_vital=True)
    tasks.begin(parts.pre_binds.run, "volumes")
    if parts.plugged is not None:
        admission, wakes = parts.plugged.admission, parts.plugged.wakes
        tasks.begin(partial(admission.run, parts.feed, tasks.group), "plugin-admission")
        tasks.begin(partial(wakes.run, parts.feed), "plugin-wakes")
    tasks.begin(parts.reporter.events.run, "events", OUTBOX_SILENT_S_MAX)
    tasks.begin(parts.reporter.status.outbox.run, "conditions", OUTBOX_SILENT_S_MAX)


def begin_deciding(tasks: Tasks, parts: Parts, runtime: Runtime, cycle: LongTask) -> None:
    """Starts the tasks that decide, when this replica leads."""
    tasks.begin(cycle, "cycle", is_vital=True)
    tasks.begin(partial(parts.extended.run, tasks.group), "extenders")
    tasks.begin(partial(flush_parked, runtime, parts.feed), "flush")
    tasks.begin(partial(follow_time, runtime, parts.feed), "time")
    tasks.begin(partial(log_summary, parts.reporter, parts.feed.queue, runtime.clock), "summary")


Result = TypeVar("Result")


class Stopping:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()
        self._began_ns = 0

    def begin(self) -> None:
        self._began_ns = self._began_ns or self._clock.monotonic_ns()
        self._event.set()

    @property
    def has_begun(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        await self._event.wait()

    def left_s(self, of_s: float) -> float:
        """How much of this time is left since the stop began."""
        since_s = (self._clock.monotonic_ns() - self._began_ns) / NANOSECONDS
        return max(0.0, of_s - since_s)

    async def or_stopped(self, work: Coroutine[Any, Any, Result]) -> Result | None:
        """The result of the work, or None if the stop came first."""
        return await first_of(work, self.wait())


async def wind_down(
    parts: Parts, leadership: Leadership | None, left_of_s: Callable[[float], float], clock: Clock
) -> None:
    """Takes no more pods, waits for binds and evictions, releases the lease, and writes what still
    waits. `left_of_s` says how much of a time is left since the stop began."""
    parts.cycle.stop()
    if parts.plugged is not None:
        parts.plugged.placements.stop()
    left_s = left_of_s(limits.STOP_BINDS_S)
    async with asyncio.TaskGroup() as group:
        are_bound = group.create_task(parts.binds.drain(left_s))
        is_room_made = group.create_task(parts.preemptions.drain(left_s))
    if not is_room_made.result():
        _log.warning("stopped with %d preemptions under way", parts.preemptions.under_way)
    if not are_bound.result():
        _log.warning("stopped with %d binds under way", parts.reservations.under_way)
    left_s = left_of_s(limits.STOP_S)
    async with asyncio.TaskGroup() as group:
        if leadership is not None:
            lease_s = max(limits.STOP_LEASE_S_MIN, min(limits.STOP_LEASE_S, left_s))
            released = group.create_task(leadership.release(lease_s))
        for writer in (parts.reporter.events, parts.reporter.status):
            group.create_task(writer.outbox.drain(clock, min(limits.STOP_WRITES_S, left_s)))
    if leadership is not None and not released.result():
        _log.warning("the lease was not released in time; it will expire")


def died(failures: BaseExceptionGroup[Exception]) -> Problem:
    first: BaseException = failures
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    _log.error("a task of the scheduler died", exc_info=first)
    text = f"a part of the scheduler died: {type(first).__name__}: {first}"
    return Problem("KPS302", text, "a restart is safe; please report it", FINDINGS)
