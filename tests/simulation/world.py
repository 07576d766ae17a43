"""One simulated run, from a seed to its history.

Owns the order: the world begins, lives under trouble (safety), is healed and left alone until it
rests (liveness), and is told. The same seed gives the same bytes. Must not judge: the invariants
do.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kpolicy.scheduler import limits
from kpolicy.scheduler.options import Options
from tests.invariants.history import SECOND_NS, AtRest, History, Terms
from tests.simulation.api_server import STALE_VERSIONS_MAX, SimulatedApi
from tests.simulation.decision_log import Told
from tests.simulation.event_loop import virtual_loop
from tests.simulation.extender import ADDRESS as EXTENDER
from tests.simulation.extender import ASKING, MAY_ASK, Fault, SimulatedExtender
from tests.simulation.instance import Instance, VirtualClock
from tests.simulation.machine_time import WorldTime
from tests.simulation.nemesis import Nemesis
from tests.simulation.network import Network
from tests.simulation.people import People
from tests.simulation.policies import GOOD, PROFILE, Offered, PolicyFile, compiled
from tests.simulation.policy_map import STATUS, PolicyMap, kept_hash
from tests.simulation.policy_trouble import PolicyTrouble
from tests.simulation.remains import Remains
from tests.simulation.rest import at_rest
from tests.simulation.setting import setting_of
from tests.simulation.storage import Storage
from tests.simulation.trouble import Mood, Troubles

HOSTS: Final = ("ours-a", "ours-b")
CONVERGE_S: Final = 180.0
REST_S: Final = 60.0
# The loop-lag gauge wakes ten times a second and decides nothing: in virtual hours it costs most.
LAG_PERIOD_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A run besides its seed. `calm`: no trouble at all. `acts`: at most so many of the nemesis."""

    seed: int
    calm: bool = False
    acts: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    plan: Plan
    history: History
    faults: Counter[str]
    steps: Counter[str]
    virtual_s: float
    requests: int
    turns: int
    lives: int
    ends: Counter[str]
    errors: tuple[str, ...]  # exceptions that nobody caught


def run(plan: Plan) -> Run:
    lag_period_s, disabled = limits.LAG_PERIOD_S, logging.root.manager.disable
    limits.LAG_PERIOD_S = LAG_PERIOD_S  # type: ignore[misc]
    logging.disable(logging.CRITICAL)
    world = World(plan)
    gc.disable()  # what it finds closes connections, and when it runs nobody can say
    try:
        return world.run()
    finally:
        world.unwind()
        gc.enable()
        logging.disable(disabled)
        limits.LAG_PERIOD_S = lag_period_s  # type: ignore[misc]


class World:
    def __init__(self, plan: Plan) -> None:
        gc.freeze()
        self._plan = plan
        self._random = Random(plan.seed)
        self.time = WorldTime(self._chance(), SECOND_NS)
        network = self.network = Network(self.time, self._chance())
        self.troubles = Troubles(self._chance(), frozenset(HOSTS))
        network.server_loop = virtual_loop(self.time, self._chance(), "server/main", network)
        self.api = SimulatedApi(
            VirtualClock(self.time), network, self.troubles,
            hosts=frozenset(HOSTS), seed=plan.seed, kill=self._kill,
        )  # fmt: skip
        self.setting = setting_of(self._chance(), calm=plan.calm)
        goods = (*GOOD, *ASKING, MAY_ASK) if self.setting.has_extenders else GOOD
        self.offered: Offered = (
            PolicyMap(goods[0], self.api, self.time)
            if self.setting.by_config_map
            else PolicyFile(goods[0], self.time)
        )
        self._told = Told()
        self.people = People(self.api, self._chance())
        self.storage = Storage(self.api, self.people, self._chance())
        self.extender = SimulatedExtender(self._chance())
        network.accept[EXTENDER] = self.extender.accept
        count = 1 if self._random.random() < 0.3 else 2
        self.instances = [self._instance(host) for host in HOSTS[:count]]
        self.nemesis = Nemesis(
            self._chance(), self.instances, network=network, troubles=self.troubles, api=self.api
        )
        self.policy_trouble = PolicyTrouble(self._chance(), self.offered, goods, self.instances)
        self.nemesis.also(self.policy_trouble.acts)
        if self.setting.has_extenders:
            self.nemesis.also(self.extender.acts)
        self._driver = virtual_loop(self.time, self._chance(), "world/driver", network)
        self._tasks: list[asyncio.Task[Any]] = []

    def run(self) -> Run:
        self.people.begin()
        self.offered.begin()
        if self.setting.has_volumes:
            self.storage.begin()
            self.people.also(self.storage.steps)
            self._begin(self.storage.run_controllers())
        for instance in self.instances:
            instance.start()
        chance = self._random
        steps, pause_s = chance.randint(20, 70), chance.choice((0.2, 1.0, 4.0))
        living = self._begin(self.people.live(steps, pause_s))
        self._begin(self.people.run_kubelets())
        self._begin(self.nemesis.revive())
        raging = None
        if not self._plan.calm:
            mood = Mood(requests=chance.choice((0, 0.02, 0.1)), events=chance.choice((0, 0.03)))
            pause_s = chance.choice((2.0, 8.0, 30.0))
            raging = self._begin(self.nemesis.rage(mood, pause_s, self._plan.acts))
        self._until(living)
        if raging is not None:
            self._pass(chance.random() * 30)
            raging.cancel()
        self._pass(0.01)
        self.nemesis.heal()
        self.people.calm = True
        remains = self._leave_broken()
        calm_ns = self.time.now_ns
        self._pass(CONVERGE_S + REST_S)
        return self._told_as(calm_ns, remains)

    def _leave_broken(self) -> Remains:
        """Heal all but what remains; what that came to, where it could be done."""
        remains = self.setting.remains
        self.extender.fault = Fault.NONE
        if remains is Remains.EXTENDER_DEAD:
            self.extender.fault = Fault.SILENT
            self.offered.put(MAY_ASK)
        elif remains is Remains.POLICY_GONE and kept_hash(self.api):
            self.offered.spoil(self._random)
        elif not self.offered.offers[-1].hash:
            self.offered.put(GOOD[0])
        if remains.is_about_the_standby and len(self.instances) > 1:
            standby = next(one for one in reversed(self.instances) if not one.leads)
            link = self.network.link(standby.host)
            link.deaf, link.mute = remains is Remains.STANDBY_DEAF, remains is Remains.STANDBY_MUTE
        self.troubles.lasting = remains.trouble_of
        self.nemesis.counts[remains.value] += 1
        return remains

    def unwind(self) -> None:
        for instance in self.instances:
            instance.unwind()
        assert self.network.server_loop is not None
        self.network.server_loop.unwind()
        self._driver.unwind()

    def _told_as(self, calm_ns: int, remains: Remains) -> Run:
        leaders = [instance for instance in self.instances if instance.leads]
        rest: AtRest | None = None
        if leaders:
            rest = at_rest(leaders[0], self.api, self.time.now_ns, remains.broken)
        history = History(
            users=frozenset(HOSTS),
            profiles=frozenset({PROFILE}),
            changes=tuple(self.api.changes),
            writes=tuple(self.api.writes),
            decisions=tuple(self._told.decisions),
            rooms=tuple(self._told.rooms),
            starts=tuple(self._told.starts),
            policies=tuple(self.offered.offers),
            at_rest=rest,
            calm_since_ns=calm_ns,
            trouble_free=self._plan.calm,
            ended_ns=self.time.now_ns,
            terms=self._terms(remains),
        )
        lives = [
            life
            for one in self.instances
            for life in (*one.past, *([one.life] if one.life else []))
        ]
        ends = Counter(why.partition(":")[0] for one in self.instances for why in one.ends)
        loops = [loop for life in lives for loop in (life.main, life.lease)]
        assert self.network.server_loop is not None
        loops += [self.network.server_loop, self._driver]
        return Run(
            plan=self._plan,
            history=history,
            faults=self.troubles.counts
            + self.nemesis.counts
            + self.policy_trouble.counts
            + self.extender.counts,
            steps=self.people.counts + self.storage.counts,
            virtual_s=self.time.now_ns / SECOND_NS,
            requests=self.api.requests,
            turns=self.time.turns,
            lives=len(lives),
            ends=ends,
            errors=tuple(
                f"{loop.name}: {error.get('message')}: {error.get('exception')!r}"
                for loop in loops
                for error in loop.errors
            ),
        )

    # --- inside ----------------------------------------------------------------------------------

    def _terms(self, remains: Remains) -> Terms:
        return Terms(
            converge_s=CONVERGE_S,
            rest_s=REST_S,
            evicts=True,
            binds_volumes=self.setting.has_volumes,
            stale_versions=STALE_VERSIONS_MAX + 1,
            kept_in=str(STATUS) if self.setting.by_config_map else "",
            broken=remains.broken,
            shuns=remains is not Remains.EXTENDER_DEAD,
        )

    def _chance(self) -> Random:
        """Parts have chances of their own, so that one that asks more does not change all."""
        return Random(self._random.getrandbits(64))

    def _instance(self, host: str) -> Instance:
        return Instance(
            host, self.time, self.network, self._chance(), self.offered.given,
            self.offered.keeping, compiled, self._told, Options(port=0, leader_elect=True),
        )  # fmt: skip

    def _kill(self, host: str) -> None:
        next(one for one in self.instances if one.host == host).end("killed at a write")

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._driver.create_task(work)
        self._tasks.append(task)
        return task

    def _until(self, task: asyncio.Task[None]) -> None:
        self.time.run_until(task.done)
        task.result()

    def _pass(self, seconds: float) -> None:
        until_ns = self.time.now_ns + round(seconds * SECOND_NS)
        self.time.run_until(lambda: False, until_ns=until_ns)
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()
