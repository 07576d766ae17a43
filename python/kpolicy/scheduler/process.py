"""The scheduler as an object: start it, reload it, stop it.

All its tasks are in one group: the first that fails ends the run, and its reason is the answer. It
does not exit the process, read arguments or print.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from kpolicy.clock import Clock, Heartbeats, Pulse, SystemClock, background_group
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.limits import START_PATIENCE_S
from kpolicy.cluster.probe import Patience
from kpolicy.engine import Engine
from kpolicy.plugins.loading import PluginClass
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.tenants.tenant_checks import TenantTerms
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.cluster_version import ClusterVersion
from kpolicy.scheduler.delivery.config_maps import ConfigMapWatches
from kpolicy.scheduler.delivery.policy_delivery import Delivery, Policies, Tenants
from kpolicy.scheduler.delivery.policy_report import Reporting
from kpolicy.scheduler.delivery.sources import PolicySource
from kpolicy.scheduler.delivery.tenant_maps import TenantMaps
from kpolicy.scheduler.delivery.tenant_programs import TenantPrograms
from kpolicy.scheduler.delivery.tenant_report import TenantReport
from kpolicy.scheduler.journaling import Journaling
from kpolicy.scheduler.long_tasks import (
    Leadership,
    Parts,
    Setting,
    Stopping,
    begin_deciding,
    begin_writing,
    died,
    elect,
    wind_down,
    wire,
)
from kpolicy.scheduler.loop.queue import QueueStatistics
from kpolicy.scheduler.loop.reload import InForce, Reloaded
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.plugged.host import PluginHost
from kpolicy.scheduler.problem_codes import FINDINGS, Problem
from kpolicy.scheduler.runtime import EngineThread, Machine, Runtime, Tasks, Witness
from kpolicy.scheduler.serving.comparer import Compared
from kpolicy.scheduler.serving.endpoints import Life, listen
from kpolicy.scheduler.serving.observed import observe, request_timer
from kpolicy.scheduler.shadow.shadow_policy import ShadowPolicy
from kpolicy.telemetry.health_server import HttpServer
from kpolicy.telemetry.metrics import register as register_process
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Environment:
    """The surroundings of the process, by default the real ones. Only the elector's thread uses
    `lease_connection`, and calls `on_lost` when the lease is lost; without `on_lost`, the run ends
    with a problem."""

    clock: Clock = field(default_factory=SystemClock)
    traces: Traces = field(default_factory=Traces)
    lease_connection: Connection | None = None
    on_lost: Callable[[], None] | None = None
    engine: Engine | None = None
    # Takes the sources, and `cluster_version` by name.
    compile_with: Callable[..., Compiled] = compile_policy
    machine: Machine = field(default_factory=Machine)
    plugins: Sequence[PluginClass] = ()


class Scheduler:
    """Run `run` as a task. It returns None after `stop`, or why the scheduler could not start or
    continue."""

    def __init__(
        self,
        connection: Connection,
        policies: Policies,
        options: Options,
        *,
        environment: Environment | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        environment = environment or Environment()
        clock, machine = environment.clock, environment.machine
        self.options = options
        self.metrics = SchedulerMetrics()
        self._connection = connection
        self._policies = policies
        self._environment = environment
        self._configuration = dict(configuration or {})
        self._version = ClusterVersion()
        # The seed only decides among equal scores. Replicas with the same seed must still differ in
        # jitter and in name.
        engine = environment.engine or Engine(
            machine.random.getrandbits(64) if options.seed is None else options.seed,
            threads=options.engine_threads,
        )
        self._tenant_programs: TenantPrograms | None = None
        if policies.tenants is not None:
            terms = TenantTerms(policies.tenants.weight)
            self._tenant_programs = TenantPrograms(self._compile, terms)
        self._shadow: ShadowPolicy | None = None
        if policies.shadow is not None:
            self._shadow = ShadowPolicy(self._compile, clock)
            self._shadow.observe(self.metrics)
        witnesses: list[Witness] = [self._shadow.witness()] if self._shadow is not None else []
        self._journaling: Journaling | None = None
        if options.journal:
            folder, bytes_max = Path(options.journal), options.journal_bytes_max
            self._journaling = Journaling(folder, bytes_max, clock, machine.run_id)
            self._journaling.observe(self.metrics)
            witnesses.append(self._journaling.witness)
        thread = EngineThread(engine, clock, self.metrics, witnesses=witnesses)
        self._runtime = Runtime(clock, thread, self.metrics, environment.traces, machine.random)
        self._plugins: PluginHost | None = None
        if environment.plugins:
            seconds, make_thread = options.plugin_timeout_s, machine.plugin_thread
            self._plugins = PluginHost(environment.plugins, self._runtime, seconds, make_thread)
        self._heartbeats = Heartbeats(clock)
        self._patience = Patience(clock, machine.random, START_PATIENCE_S)
        self._stop = Stopping(clock)
        self._ready = asyncio.Event()
        self._delivery: Delivery | None = None
        self._leadership: Leadership | None = None
        self._parts: Parts | None = None
        self._http: HttpServer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._problem: Problem | None = None

    # --- what others may ask ---------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        """Waits until the first lists are in the engine. A replica that does not lead is ready
        too."""
        await self._ready.wait()

    @property
    def waits_for(self) -> str:
        """The last failure of the API server, while the start waits for the API server."""
        return self._patience.waits_for

    @property
    def url(self) -> str:
        return self._http.url if self._http is not None else ""

    @property
    def policy(self) -> InForce | None:
        return self._parts.reloader.in_force if self._parts is not None else None

    @property
    def last_reload(self) -> Reloaded | None:
        return self._parts.reloader.last if self._parts is not None else None

    def queue_statistics(self) -> QueueStatistics | None:
        return self._parts.feed.queue.statistics() if self._parts is not None else None

    async def engine_statistics(self) -> bytes:
        thread = self._runtime.engine
        return await thread.call(thread.engine.statistics)

    async def reload(self, sources: Sequence[Source] | None = None) -> Reloaded:
        """Puts these policies in force, or reads the source again. If they do not compile, the
        policy in force stays."""
        assert self._delivery is not None, "it is there as long as the scheduler runs"
        return await self._delivery.reload(sources)

    def begin_reload(self) -> None:
        """Reads the policy source again soon. Several requests before that cause one reload."""
        if self._delivery is not None:
            self._delivery.begin_reload()

    async def compare(self) -> Compared:
        """Compares nodes, pods, nominations and the queue with the API server, and returns the
        differences."""
        assert self._parts is not None, "the scheduler does not run"
        return await self._parts.comparer.compare()

    def dump(self) -> None:
        """Compares, and writes the differences and the queue to the log, as soon as the first lists
        are complete."""
        if self._parts is not None and self.ready:
            self._parts.comparer.begin_dump()

    def stop(self) -> None:
        """Ends the run in an orderly way, in less than eight seconds."""
        self._stop.begin()

    def stop_left_s(self, of_s: float) -> float:
        """The rest of this many seconds since the stop began."""
        return self._stop.left_s(of_s)

    # --- the run ---------------------------------------------------------------------------------

    async def run(self) -> Problem | None:
        self._loop = asyncio.get_running_loop()
        if (wrong := self.options.checked()) is not None:
            return wrong
        try:
            timed = request_timer(self._runtime.metrics, self._connection.server)
            client = ApiClient(self._connection, self._runtime.clock, timed=timed)
            async with client, background_group() as group:
                self._problem = await self._live(client, group)
        except* Exception as failures:
            self._problem = died(failures)
        finally:
            if self._leadership is not None:
                await self._leadership.release(limits.STOP_LEASE_S_MIN)
            self._runtime.engine.stop()
            if self._journaling is not None:
                await asyncio.to_thread(self._journaling.stop)
            if self._plugins is not None:
                self._plugins.runner.stop()
            if self._parts is not None:
                await self._parts.extended.in_force.close()
            if self._shadow is not None:
                self._shadow.stop()
            if self._http is not None:
                await self._http.stop()
        return self._problem

    async def _live(self, client: ApiClient, group: asyncio.TaskGroup) -> Problem | None:
        tasks = Tasks(group, self._heartbeats, self._runtime.vitals)
        problem = self._elect(tasks)
        if problem is not None:
            return problem
        parts = self._parts = self._wire(client, tasks)
        problem = await self._make_plugins(client, tasks)
        if problem is not None:
            return problem
        problem = await self._listen(parts, client, tasks)
        if problem is not None:
            return problem
        delivery = self._delivery = self._deliver(parts, client, tasks)
        problem = await self._stop.or_stopped(self._version.ask(client, self._patience))
        if problem is None:
            problem = self._open_journal()
        if problem is None and not self._stop.has_begun:
            problem = await self._stop.or_stopped(delivery.start())
        self._patience.end()
        if problem is not None or self._stop.has_begun:
            return problem
        shadow_source = None
        if self._shadow is not None and self._policies.shadow is not None:
            shadow_source = delivery.source_of(self._policies.shadow)
            await self._stop.or_stopped(self._shadow.start(shadow_source))
        begin_writing(tasks, parts, self._runtime)
        await self._stop.or_stopped(parts.informers.wait_synced())
        if not self._stop.has_begun:
            gc.collect()
            # objects made at the start stay for ever; later garbage collections need not examine
            # them
            gc.freeze()
            self._ready.set()
            _log.info("ready: every list is in the engine")
            delivery.follow(tasks)
            upgraded = partial(
                self._version.follow, client, self._runtime.clock, delivery.begin_reload
            )
            tasks.begin(upgraded, "cluster-version", limits.POLICY_TASK_SILENT_S_MAX)
            self._follow_informers(tasks, parts, shadow_source)
            if self._leadership is not None:
                await self._stop.or_stopped(self._leadership.acquire())
        if not self._stop.has_begun:
            delivery.begin_reports()
            begin_deciding(tasks, parts, self._runtime, partial(self._cycle, parts, group))
            await self._stop.wait()
        if self._problem is None:  # after the lease was lost, the process waits for nothing
            await wind_down(parts, self._leadership, self._stop.left_s, self._runtime.clock)
        return self._problem

    def _open_journal(self) -> Problem | None:
        if self._journaling is None:
            return None
        engine = self._runtime.engine.engine
        engine.records = True
        return self._journaling.open(engine.seed, self._version.known)

    def _follow_informers(
        self, tasks: Tasks, parts: Parts, shadow_source: PolicySource | None
    ) -> None:
        """Begins what may list the objects of the cluster again."""
        if self._journaling is not None:
            keep = partial(self._journaling.follow, parts.informers, self._runtime)
            tasks.begin(keep, "journal", limits.POLICY_TASK_SILENT_S_MAX)
        if self._shadow is not None and shadow_source is not None:
            follow = partial(self._shadow.follow, shadow_source, parts.informers)
            tasks.begin(follow, "shadow-policy", limits.POLICY_TASK_SILENT_S_MAX)

    def _compile(self, sources: Sequence[Source]) -> Compiled:
        return self._environment.compile_with(sources, cluster_version=self._version.known)

    def _elect(self, tasks: Tasks) -> Problem | None:
        if not self.options.leader_elect:
            return None
        elected = elect(
            self._environment.lease_connection or self._connection,
            self._runtime,
            options=self.options,
            machine=self._environment.machine,
            on_lost=self._lost,
            tasks=tasks,
        )
        if isinstance(elected, Problem):
            return elected
        self._leadership = elected
        return None

    def _wire(self, client: ApiClient, tasks: Tasks) -> Parts:
        register_process(self.metrics.registry)
        self.metrics.watch(
            "kpolicy_traces_dropped_total",
            "counter",
            "Traces that were wanted and not delivered, because of a limit or the collector.",
            lambda: {(): self._runtime.traces.dropped},
        )
        environment = self._environment
        setting = Setting(
            self._tenant_programs or self._compile,
            self.options,
            environment.machine,
            self._may_act(),
            self._patience,
            self._plugins,
        )
        parts = wire(client, self._runtime, tasks, setting)
        observe(parts, client, self._runtime)
        return parts

    async def _make_plugins(self, client: ApiClient, tasks: Tasks) -> Problem | None:
        if self._plugins is None:
            return None
        tasks.begin(self._plugins.runner.run, "plugins")
        return await self._stop.or_stopped(
            self._plugins.start(client, tasks.group, self._may_act())
        )

    def _may_act(self) -> Callable[[], bool]:
        return self._leadership.fence if self._leadership is not None else lambda: True

    def _leads(self) -> bool:
        return self._may_act()()

    async def _listen(self, parts: Parts, client: ApiClient, tasks: Tasks) -> Problem | None:
        if self.options.port == 0:
            return None
        life = Life(
            self._not_ready,
            self._stopping,
            self._leads,
            self._shown,
            self._heartbeats,
        )
        listening = await listen(
            self.options,
            parts,
            life,
            runtime=self._runtime,
            client=client,
            tasks=tasks,
        )
        if isinstance(listening, Problem):
            return listening
        self._http = listening
        return None

    def _not_ready(self) -> str:
        why = f": waiting for the API server: {self.waits_for}" if self.waits_for else ""
        return "" if self.ready else f"handlers are not fully synchronized{why}"

    def _stopping(self) -> str:
        return "process is shutting down" if self._stop.has_begun else ""

    def _shown(self) -> dict[str, Any]:
        """For /configz."""
        policies = self._delivery.shown() if self._delivery is not None else {"policy": None}
        return {
            "options": self.options.shown(),
            "configuration": self._configuration,
            "keeping": self._policies.keeping.shown(),
            "server": self._connection.server,
            "clusterVersion": self._version.known,
            "release": self.policy.program.followed.shown() if self.policy is not None else None,
            "shadow": self._shadow.shown() if self._shadow is not None else None,
            **policies,
        }

    def _deliver(self, parts: Parts, client: ApiClient, tasks: Tasks) -> Delivery:
        clock, random = self._runtime.clock, Random(self._runtime.random.getrandbits(64))
        host_name = self._environment.machine.host_name
        reporting = Reporting(client, parts.reporter.events, host_name, self._may_act())
        tenants = None
        if self._policies.tenants is not None and self._tenant_programs is not None:
            maps = TenantMaps(
                self._policies.tenants, client, clock, random, tasks, patience=self._patience
            )
            report = TenantReport(parts.reloader, maps, reporting, self.metrics.tenant_policies)
            tenants = Tenants(maps, self._tenant_programs, report)
        return Delivery(
            self._policies,
            parts.reloader,
            clock=clock,
            watches=ConfigMapWatches(client, clock, random, tasks, patience=self._patience),
            reporting=reporting,
            tenants=tenants,
        )

    async def _cycle(self, parts: Parts, group: asyncio.TaskGroup, pulse: Pulse) -> None:
        await parts.cycle.run(group, pulse, once=self.options.once)
        if self.options.once:
            self.stop()

    # --- the way out -----------------------------------------------------------------------------

    def _lost(self) -> None:
        """Called in the elector's thread."""
        if self._environment.on_lost is not None:
            self._environment.on_lost()
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(self._end_lost)

    def _end_lost(self) -> None:
        text = f"the lease {self.options.lease_namespace}/{self.options.lease_name} was lost"
        self._problem = Problem("KPS301", text, "a restart is safe", FINDINGS)
        self.stop()
