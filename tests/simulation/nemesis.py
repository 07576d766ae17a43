"""Causes faults of processes, hosts, the network and the server, from a seed: which acts, how long
each lasts, and the end of all of them.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeAlias

from tests.simulation.api_server import SimulatedApi
from tests.simulation.event_loop import SECOND_NS
from tests.simulation.instance import Instance
from tests.simulation.network import Network
from tests.simulation.trouble import Mood, Troubles

Act: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
RESTART_S_MAX: Final = 6.0
OUTAGE_S: Final = (1.0, 5.0, 30.0, 120.0)
OUTAGE_LONG_S: Final = (3_600.0, 7_200.0)
FREEZE_S: Final = (0.5, 4.0, 9.0, 16.0, 25.0, 60.0)


class Nemesis:
    def __init__(
        self,
        random: Random,
        instances: Sequence[Instance],
        *,
        network: Network,
        troubles: Troubles,
        api: SimulatedApi,
    ) -> None:
        self._random = random
        self._instances = instances
        self._network = network
        self._troubles = troubles
        self._api = api
        self.counts: Counter[str] = Counter()
        self._acts: dict[Act, int] = {
            self.kill: 6,
            self.stop: 2,
            self.freeze: 5,
            self.partition: 3,
            self.refuse: 2,
            self.reset: 5,
            self.tear: 5,
            self.slow: 4,
            self.lag: 6,
            self.outage: 3,
            self.compact: 4,
            self.burst_busy: 2,
            self.burst_failing: 3,
            self.kill_at_write: 6,
            self.step_clock: 2,
        }

    def also(self, acts: Mapping[Act, int]) -> None:
        """Further faults of this world."""
        self._acts |= acts

    async def rage(self, mood: Mood, pause_s: float, acts_max: int | None) -> None:
        self._troubles.mood = mood
        for _ in itertools.count() if acts_max is None else range(acts_max):
            await asyncio.sleep(self._random.expovariate(1 / pause_s))
            (act,) = self._random.choices(list(self._acts), list(self._acts.values()))
            await act()

    async def revive(self) -> None:
        """Starts ended processes again after a moment, as a supervisor does."""
        while True:
            await asyncio.sleep(0.2)
            for instance in self._instances:
                if instance.life is None:
                    await asyncio.sleep(self._random.random() * RESTART_S_MAX)
                    if instance.life is None:
                        instance.start()

    def heal(self) -> None:
        self._troubles.mood = Mood()
        self._network.listens = True
        for instance in self._instances:
            link = self._network.link(instance.host)
            link.refuses = link.silent = False
            link.latency_s = 0.0
            instance.freeze(0)
            for end in self._network.served(instance.host):
                end.tears, end.lag_s = False, 0.0
                if end.peer is not None:
                    end.peer.lag_s = 0.0

    # --- processes -------------------------------------------------------------------------------

    async def kill(self) -> None:
        self._count("killed")
        self._any_instance().end("SIGKILL")

    async def kill_at_write(self) -> None:
        """From now on, one write in three kills its process."""
        await self._mooded("kills", 0.3, self._random.random() * 5)

    async def stop(self) -> None:
        self._count("stopped")
        self._any_instance().stop()

    async def freeze(self) -> None:
        self._count("frozen")
        self._any_instance().freeze(self._random.choice(FREEZE_S))

    async def step_clock(self) -> None:
        self._count("clock stepped")
        hours = self._random.choice((-1, 1)) * self._random.random()
        self._any_instance().clock.wall_offset_ns += round(hours * 3600 * SECOND_NS)

    # --- the network -----------------------------------------------------------------------------

    async def partition(self) -> None:
        """Packets vanish, and connections stay half open."""
        self._count("partitioned")
        link = self._network.link(self._any_instance().host)
        link.silent = True
        await asyncio.sleep(self._random.choice((2.0, 11.0, 40.0, 100.0)))
        link.silent = False

    async def refuse(self) -> None:
        self._count("refused")
        link = self._network.link(self._any_instance().host)
        link.refuses = True
        await self.reset()
        await asyncio.sleep(self._random.choice((2.0, 11.0, 30.0)))
        link.refuses = False

    async def reset(self) -> None:
        self._count("reset")
        for end in self._network.served(self._any_instance().host):
            end.abort()

    async def tear(self) -> None:
        """The next data of the server on each connection breaks off in the middle."""
        self._count("torn")
        for end in self._network.served(self._any_instance().host):
            end.tears = True

    async def slow(self) -> None:
        self._count("slow")
        link = self._network.link(self._any_instance().host)
        link.latency_s = self._random.choice((0.2, 1.0, 4.0))
        await asyncio.sleep(self._random.random() * 20)
        link.latency_s = 0.0

    async def lag(self) -> None:
        """One connection falls behind: its events arrive after later ones on other connections."""
        self._count("lagging")
        ends = [
            end.peer
            for end in self._network.served(self._any_instance().host)
            if end.peer is not None
        ]
        if ends:
            self._random.choice(ends).lag_s = self._random.choice((0.3, 2.0, 10.0))

    # --- the server ------------------------------------------------------------------------------

    async def outage(self) -> None:
        long = self._random.random() < 0.02
        self._count("outage of hours" if long else "outage")
        self._network.listens = False
        for instance in self._instances:
            for end in self._network.served(instance.host):
                end.abort()
        await asyncio.sleep(self._random.choice(OUTAGE_LONG_S if long else OUTAGE_S))
        self._network.listens = True

    async def compact(self) -> None:
        self._count("compacted")
        self._api.store.compact()
        if self._random.random() < 0.7:
            await self.reset()

    async def burst_busy(self) -> None:
        self._count("burst of 429")
        await self._mooded("busy", 0.9, self._random.random() * 10)

    async def burst_failing(self) -> None:
        self._count("burst of 5xx")
        await self._mooded("failing", 0.9, self._random.random() * 10)

    # --- inside ----------------------------------------------------------------------------------

    async def _mooded(self, what: str, chance: float, seconds: float) -> None:
        before = getattr(self._troubles.mood, what)
        setattr(self._troubles.mood, what, chance)
        await asyncio.sleep(seconds)
        setattr(self._troubles.mood, what, before)

    def _any_instance(self) -> Instance:
        return self._random.choice(self._instances)

    def _count(self, what: str) -> None:
        self.counts[what] += 1
