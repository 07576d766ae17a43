"""The extenders of the program in force, by profile.

Owns their making, their replacement at a reload, and the nodes kept for those that want them whole.
Assumes that a replacement comes between decisions. Must not ask any.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kpolicy.clock import Clock
from kpolicy.policy.assembly.program import Program
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.asking import in_order
from kpolicy.scheduler.extenders.client import ExtenderClient
from kpolicy.scheduler.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Extenders:
    """Of one program. A profile that is not here asks nobody."""

    by_profile: Mapping[str, tuple[ExtenderClient, ...]] = field(default_factory=dict)

    @property
    def clients(self) -> list[ExtenderClient]:
        return [client for own in self.by_profile.values() for client in own]

    @property
    def managed(self) -> list[str]:
        """Resources that decide who is asked."""
        return sorted({name for client in self.clients for name in client.managed})

    @classmethod
    def of(cls, program: Program, clock: Clock) -> Extenders | Problem:
        """Or why one cannot be used."""
        by_profile = {}
        for profile in program.profiles:
            clients = []
            for extender in profile.extenders:
                client = ExtenderClient.of(extender, clock)
                if isinstance(client, Problem):
                    return client
                clients.append(client)
            if clients:
                by_profile[profile.scheduler_name] = in_order(clients)
        return cls(by_profile)


class ExtendersInForce:
    """`now` is what decisions go by. Replaced ones are closed after their answers may have come."""

    def __init__(self, clock: Clock, group: asyncio.TaskGroup) -> None:
        self.now = Extenders()
        self._clock = clock
        self._group = group
        self._before: Counter[tuple[str, ...]] = Counter()

    def replace(self, extenders: Extenders) -> None:
        before, self.now = self.now, extenders
        self._before = Counter(self.counts())
        if before.clients:
            self._group.create_task(self._close(before), name="replaced extenders")

    def counts(self) -> dict[tuple[str, ...], float]:
        """Calls by extender, verb and result, since the start."""
        counts = Counter(self._before)
        for client in self.now.clients:
            for key, count in client.counts.items():
                counts[client.name, *key] += count
        return dict(counts)

    async def close(self) -> None:
        for client in self.now.clients:
            await client.close()

    async def _close(self, extenders: Extenders) -> None:
        try:
            await self._clock.sleep(limits.EXTENDER_CLOSE_S)
        finally:  # also where the scheduler stops sooner
            for client in extenders.clients:
                await client.close()
