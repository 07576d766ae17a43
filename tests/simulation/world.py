"""The simulated world: connects time, network, server, people, instances and faults, and records a
run.

The same seed gives the same bytes. `course` and `story` say what happens when.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from kpolicy.plugins.limits import BLOCKED_BY_PLUGIN_MAX
from kpolicy.scheduler import limits
from kpolicy.scheduler.options import Options
from tests.invariants.history import SECOND_NS, WAIT_S_MAX, AtRest, History, Terms
from tests.simulation.api_server import STALE_VERSIONS_MAX, SimulatedApi
from tests.simulation.budgets import Budgets
from tests.simulation.decision_log import RunLog
from tests.simulation.device_objects import RESOURCE
from tests.simulation.devices import Devices
from tests.simulation.event_loop import virtual_loop
from tests.simulation.extender import ADDRESS as EXTENDER, ASKING, SimulatedExtender
from tests.simulation.instance import Instance, VirtualClock
from tests.simulation.machine_time import WorldTime
from tests.simulation.nemesis import Nemesis
from tests.simulation.network import Network
from tests.simulation.people import People
from tests.simulation.plugged import CALL_S_MAX, HAMPERED, Plugs
from tests.simulation.policies import (
    GOOD,
    HELD,
    PROFILE,
    Offered,
    PolicyFile,
    PolicyText,
    compiled,
    says_held,
)
from tests.simulation.policy_map import STATUS, PolicyMap
from tests.simulation.policy_trouble import PolicyTrouble
from tests.simulation.remains import Remains
from tests.simulation.rest import at_rest
from tests.simulation.setting import Setting, setting_of
from tests.simulation.storage import Storage
from tests.simulation.trouble import Troubles

HOSTS: Final = ("ours-a", "ours-b")
INSTANCES_ONE: Final = 0.3  # the share of worlds with one instance
# The loop-lag gauge wakes ten times a second and decides nothing. In virtual hours it would cost
# the most time.
LAG_PERIOD_S: Final = 30.0
# Small enough that the backlog of a dead shadow policy becomes full.
SHADOW_BACKLOG_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """A run besides its seed. `calm`: no trouble at all. `acts`: at most so many of the nemesis.
    `setting`: by the seed, if none is given. `journals`: the folder in which each process has the
    journal of its engine."""

    seed: int
    calm: bool = False
    acts: int | None = None
    setting: Setting | None = None
    journals: Path | None = None


@dataclass(frozen=True, slots=True)
class Run:
    history: History
    faults: Counter[str]
    steps: Counter[str]
    virtual_s: float
    requests: int
    ends: Counter[str]
    errors: tuple[str, ...]  # uncaught exceptions


@contextmanager
def world_of(plan: Plan) -> Iterator[World]:
    """Makes the world of a plan, and closes it afterwards."""
    lag_period_s, disabled = limits.LAG_PERIOD_S, logging.root.manager.disable
    backlog_max = limits.SHADOW_BACKLOG_MAX
    limits.LAG_PERIOD_S = LAG_PERIOD_S  # type: ignore[misc]
    limits.SHADOW_BACKLOG_MAX = SHADOW_BACKLOG_MAX  # type: ignore[misc]
    logging.disable(logging.CRITICAL)
    world = World(plan)
    # The garbage collector closes connections, at times that differ between runs.
    gc.disable()
    try:
        yield world
    finally:
        world.unwind()
        gc.enable()
        logging.disable(disabled)
        limits.LAG_PERIOD_S = lag_period_s  # type: ignore[misc]
        limits.SHADOW_BACKLOG_MAX = backlog_max  # type: ignore[misc]


class World:
    def __init__(self, plan: Plan) -> None:
        gc.freeze()
        self.plan = plan
        self.random = Random(plan.seed)
        self.time = WorldTime(self._chance(), SECOND_NS)
        network = self.network = Network(self.time, self._chance())
        self.troubles = Troubles(self._chance(), frozenset(HOSTS))
        network.server_loop = virtual_loop(self.time, self._chance(), "server/main", network)
        self.api = SimulatedApi(
            VirtualClock(self.time),
            network,
            self.troubles,
            hosts=frozenset(HOSTS),
            seed=plan.seed,
            kill=self._kill,
        )
        chance = self._chance()
        self.setting = plan.setting or setting_of(chance, calm=plan.calm)
        first, goods = GOOD[0], tuple[PolicyText, ...](GOOD)
        if self.setting.has_extenders:
            first, goods = chance.choice(ASKING), (*ASKING, *ASKING, *GOOD)
        self.offered: Offered = (
            PolicyMap(first, self.api, self.time)
            if self.setting.by_config_map
            else PolicyFile(first, self.time)
        )
        self._log = RunLog()
        self.people = People(self.api, self._chance())
        self.storage = Storage(self.api, self.people, self._chance())
        self.budgets = Budgets(self.api, self._chance())
        self.extender = SimulatedExtender(self._chance())
        network.accept[EXTENDER] = self.extender.accept
        count = 1 if self.random.random() < INSTANCES_ONE else 2
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
        self.devices = Devices(self.api, self.people, self._chance())
        # A source that no other part shares, so that worlds without plugins are what they were.
        self.plugs = Plugs(Random(f"plugins {plan.seed}"), self.time)
        if self.setting.has_plugins:
            for instance in self.instances:
                instance.plugins = self.plugs.of

    # --- time ------------------------------------------------------------------------------------

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._driver.create_task(work)
        self._tasks.append(task)
        return task

    def until(self, task: asyncio.Task[None]) -> None:
        self.time.run_until(task.done)
        task.result()

    def pass_time(self, seconds: float) -> None:
        until_ns = self.time.now_ns + round(seconds * SECOND_NS)
        self.time.run_until(lambda: False, until_ns=until_ns)
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    def unwind(self) -> None:
        for instance in self.instances:
            instance.unwind()
        assert self.network.server_loop is not None
        self.network.server_loop.unwind()
        self._driver.unwind()

    # --- the record ------------------------------------------------------------------------------

    def finished_run(
        self, calm_ns: int, *, converge_s: float, rest_s: float, remains: Remains = Remains.NOTHING
    ) -> Run:
        # A call that blocks its thread holds up the questions behind it, and so does the next one
        # in the thread that follows: as often as one plugin may do so.
        held_up_s = BLOCKED_BY_PLUGIN_MAX * CALL_S_MAX if self.setting.has_plugins else 0.0
        terms = Terms(
            wait_s_max=WAIT_S_MAX + held_up_s,
            converge_s=converge_s,
            rest_s=rest_s,
            evicts=True,
            binds_volumes=self.setting.has_volumes,
            allocates_devices=self.setting.has_devices,
            plugin_call_s=CALL_S_MAX,
            hampered=HAMPERED if self.setting.has_plugins else None,
            ignored=(RESOURCE,) if self.setting.has_devices else (),
            stale_versions=STALE_VERSIONS_MAX + 1,
            kept_in=str(STATUS) if self.setting.by_config_map else "",
            broken=remains.broken,
            shuns=remains is not Remains.EXTENDER_DEAD,
        )
        counts = (self.troubles, self.nemesis, self.policy_trouble, self.extender, self.plugs)
        return Run(
            history=self._history(calm_ns, terms),
            faults=sum((count.counts for count in counts), Counter[str]()),
            steps=self.people.counts
            + self.storage.counts
            + self.budgets.counts
            + self.devices.counts
            + Counter({HELD: sum(map(says_held, self.api.writes))}),
            virtual_s=self.time.now_ns / SECOND_NS,
            requests=self.api.requests,
            ends=Counter(
                why.partition(":")[0] for instance in self.instances for why in instance.ends
            ),
            errors=tuple(self._errors()),
        )

    def _history(self, calm_ns: int, terms: Terms) -> History:
        leaders = [instance for instance in self.instances if instance.leads]
        rest: AtRest | None = None
        if leaders:
            rest = at_rest(leaders[0], self.api, self.time.now_ns, terms.broken)
        return History(
            users=frozenset(HOSTS),
            profiles=frozenset({PROFILE}),
            changes=tuple(self.api.changes),
            writes=tuple(self.api.writes),
            decisions=tuple(self._log.decisions),
            rooms=tuple(self._log.rooms),
            plugin_calls=tuple(self.plugs.calls),
            starts=tuple(self._log.starts),
            policies=tuple(self.offered.offers),
            at_rest=rest,
            calm_since_ns=calm_ns,
            trouble_free=self.plan.calm,
            ended_ns=self.time.now_ns,
            terms=terms,
        )

    def _errors(self) -> Iterator[str]:
        lives = [life for instance in self.instances for life in instance.lives]
        loops = [loop for life in lives for loop in life.loops]
        assert self.network.server_loop is not None
        for loop in (*loops, self.network.server_loop, self._driver):
            for error in loop.errors:
                yield f"{loop.name}: {error.get('message')}: {error.get('exception')!r}"

    # --- inside ----------------------------------------------------------------------------------

    def _chance(self) -> Random:
        """Each part has its own random source, so that more draws in one part do not change the
        others."""
        return Random(self.random.getrandbits(64))

    def _instance(self, host: str) -> Instance:
        return Instance(
            host,
            self.time,
            self.network,
            self._chance(),
            self.offered.origin,
            self.offered.keeping,
            compiled,
            self._log,
            Options(port=0, leader_elect=True, plugin_timeout_s=CALL_S_MAX),
            has_dead_shadow=self.setting.remains is Remains.SHADOW_DEAD,
            journals=self.plan.journals,
        )

    def _kill(self, host: str) -> None:
        next(instance for instance in self.instances if instance.host == host).end(
            "killed at a write"
        )
