"""One process of the simulated world: the whole scheduler, with its main thread and its lease
thread.

It can be started, killed at any moment, frozen, and stopped. After each start it has a new
`Machine`, a new engine and a new pair of loops, as a new process has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from kpolicy.clock import Clock, SystemClock, first_of
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import Connection, FixedAuthorization
from kpolicy.cluster.lease import Elector
from kpolicy.engine import Engine
from kpolicy.journal.journal_thread import Journal
from kpolicy.plugins.loading import PluginClass
from kpolicy.plugins.thread import Deliver
from kpolicy.scheduler.delivery.policy_delivery import Keeping, Policies, PolicyOrigin
from kpolicy.scheduler.loop.reload import Compile
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.process import Environment, Scheduler
from kpolicy.scheduler.runtime import Machine
from kpolicy.scheduler.shadow.second_engine import Shadow
from kpolicy.scheduler.shadow.shadow_policy import ShadowFeed
from tests.invariants.history import Start
from tests.simulation.api_server import SERVER
from tests.simulation.decision_log import LoggedEngine, RunLog
from tests.simulation.event_loop import Joining, VirtualLoop, virtual_loop
from tests.simulation.journals import journal_of
from tests.simulation.machine_time import WorldTime
from tests.simulation.network import Network
from tests.simulation.plugin_thread import VirtualPluginThread

EPOCH_NS: Final = 1_767_225_600_000_000_000  # 2026-01-01


class VirtualClock(SystemClock):
    """Virtual time, with a wall clock for each host. It sleeps on its `VirtualLoop`."""

    __slots__ = ("_time", "wall_offset_ns")

    def __init__(self, time: WorldTime) -> None:
        self._time = time
        self.wall_offset_ns = EPOCH_NS

    def now_ns(self) -> int:
        return self._time.now_ns + self.wall_offset_ns

    def monotonic_ns(self) -> int:
        return self._time.now_ns


class VirtualElectorThread:
    """`LeaseThread` on a loop of the simulated world."""

    def __init__(
        self,
        loop: VirtualLoop,
        client: ApiClient,
        elector: Elector,
        on_lost: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._client = client
        self._elector = elector
        self._on_lost = on_lost
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self._loop.create_task(self._run())

    def stop(self, timeout_s: float) -> bool:
        assert self._task is not None
        if not self._task.done():
            self._loop.call_soon_threadsafe(self._stop.set)
        joining: object = Joining(self._task.done, timeout_s)
        return joining  # type: ignore[return-value]  # the loop waits, where a thread would block

    async def _run(self) -> None:
        async with self._client:
            if await first_of(self._elector.run(), self._stop.wait()):
                await self._elector.release()
            else:
                self._on_lost()


@dataclass(slots=True)
class Life:
    """From one start of the process to its end."""

    machine: Machine
    engine: LoggedEngine
    scheduler: Scheduler
    main: VirtualLoop
    lease: VirtualLoop
    task: asyncio.Task[Problem | None]
    shadowed: ShadowFeed | None
    plugin_loops: list[VirtualLoop]
    journal: Journal | None = None

    @property
    def loops(self) -> tuple[VirtualLoop, ...]:
        return self.main, self.lease, *self.plugin_loops


def _no_plugins(run_id: str) -> Sequence[PluginClass]:
    return ()


@dataclass(slots=True)
class Instance:
    host: str
    time: WorldTime
    network: Network
    random: Random
    policies: Callable[[VirtualClock], PolicyOrigin]
    keeping: Keeping
    compile: Compile
    log: RunLog
    options: Options
    has_dead_shadow: bool = False
    plugins: Callable[[str], Sequence[PluginClass]] = _no_plugins  # by the id of the run
    journals: Path | None = None
    life: Life | None = None
    past: list[Life] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    clock: VirtualClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = VirtualClock(self.time)

    def start(self) -> None:
        assert self.life is None
        number = len(self.past)
        chance = Random(self.random.getrandbits(64))
        main = virtual_loop(self.time, chance, f"{self.host}/main-{number}", self.network)
        lease = virtual_loop(self.time, chance, f"{self.host}/lease-{number}", self.network)
        plugin_loops: list[VirtualLoop] = []

        def plugin_thread(thread: int, clock: Clock, deliver: Deliver) -> VirtualPluginThread:
            loop = virtual_loop(self.time, chance, f"{self.host}/plugins-{number}-{thread}")
            plugin_loops.append(loop)
            return VirtualPluginThread(thread, clock, deliver, loop)

        machine = Machine(
            host_name=self.host,
            process_id=number + 1,
            random=chance,
            elector_thread=lambda client, elector, lost: VirtualElectorThread(
                lease, client, elector, lost
            ),
            plugin_thread=plugin_thread,
        )
        engine = LoggedEngine(chance.getrandbits(64), machine.run_id, self.log, self.time)
        connection = Connection(
            server=SERVER,
            authorization=FixedAuthorization(f"Bearer {self.host}"),
            namespace="kube-system",
            user=self.host,
            source="the simulation",
        )
        scheduler = Scheduler(
            connection,
            Policies(self.policies(self.clock), keeping=self.keeping),
            self.options,
            environment=Environment(
                clock=self.clock,
                engine=engine,
                compile_with=self.compile,
                machine=machine,
                on_lost=lambda: self.end("lease lost"),
                plugins=self.plugins(machine.run_id),
            ),
        )
        shadowed = None
        if self.has_dead_shadow:
            # The thread of a shadow policy would be real; with a dead engine, only the calls to it
            # are left.
            shadowed = ShadowFeed(Shadow(lambda: Engine(0), self.clock, on_behind=lambda: None))
            scheduler._runtime.engine._witnesses = (shadowed,)
        journal = None
        if self.journals is not None:
            folder = self.journals / machine.run_id
            journal = journal_of(folder, machine.run_id, engine.seed, self.clock)
            before = scheduler._runtime.engine._witnesses
            scheduler._runtime.engine._witnesses = (*before, journal)
        self.log.starts.append(Start(machine.run_id, self.host, self.time.now_ns))
        task = main.create_task(scheduler.run())
        self.life = Life(
            machine, engine, scheduler, main, lease, task, shadowed, plugin_loops, journal
        )
        task.add_done_callback(self._ended)

    def end(self, why: str) -> None:
        """Ends as with SIGKILL or `os._exit`: at once, and nothing is unwound."""
        life, self.life = self.life, None
        if life is None:
            return
        self.ends.append(why)
        self.past.append(life)
        for loop in life.loops:
            loop.kill()
            self.network.vanish(loop)

    def freeze(self, seconds: float) -> None:
        if self.life is not None:
            for loop in self.life.loops:
                loop.freeze(seconds)

    def stop(self) -> None:
        """SIGTERM."""
        if self.life is not None:
            life = self.life
            life.main.call_soon(life.scheduler.stop)

    @property
    def ready(self) -> bool:
        return self.life is not None and self.life.scheduler.ready

    @property
    def leads(self) -> bool:
        leadership = None if self.life is None else self.life.scheduler._leadership
        return leadership is not None and leadership.fence()

    @property
    def lives(self) -> list[Life]:
        return [*self.past, *([self.life] if self.life is not None else [])]

    def unwind(self) -> None:
        self.end("the simulation is over")
        for life in self.past:
            for loop in life.loops:
                loop.unwind()
            if life.journal is not None:
                life.journal.stop()

    def _ended(self, task: asyncio.Task[Problem | None]) -> None:
        if self.life is None or self.life.task is not task:
            return
        if task.cancelled():
            why = "cancelled"
        elif (error := task.exception()) is not None:
            why = f"raised {type(error).__name__}: {error}"
        else:
            problem = task.result()
            why = "stopped" if problem is None else f"{problem.code}: {problem.message}"
        self.end(why)
