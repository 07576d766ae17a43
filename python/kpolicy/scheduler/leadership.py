"""Leader election, in a thread of its own: it must renew the lease while the main loop is stuck.

The thread has its own connection. What follows from a lost lease is the caller's decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.lease import Elector
from kpolicy.cluster.lease_record import LeaseTerms
from kpolicy.cluster.limits import LEASE_SILENT_S_MAX
from kpolicy.heartbeat import Heartbeat, Heartbeats
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import Problem, of_connection
from kpolicy.scheduler.runtime import ElectorThread, Machine, Runtime


class Leadership:
    def __init__(
        self,
        elector: Elector,
        thread: ElectorThread,
        heartbeat: Heartbeat,
        heartbeats: Heartbeats,
    ) -> None:
        self._elector = elector
        self._thread = thread
        self._heartbeat = heartbeat
        self._heartbeats = heartbeats
        self._started = False

    def fence(self) -> bool:
        return self._elector.fence()

    async def acquire(self) -> None:
        self._started = True
        self._heartbeats.add(self._heartbeat)
        self._thread.start()
        await self._elector.acquired()

    async def release(self, seconds_max: float) -> bool:
        """Give the lease up for the next one, if that can be done in time."""
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
    heartbeats: Heartbeats,
) -> Leadership | Problem:
    """`acquire` then waits for our turn to lead."""
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
        namespace=options.lease_namespace,
        name=name,
        identity=machine.identity,
        pulse=heartbeat,
    )
    thread = machine.elector_thread(client, elector, on_lost)
    runtime.metrics.watch(
        "leader_election_master_status",
        "gauge",
        "1 while this replica is the leader.",
        lambda: {(name,): int(elector.fence())},
        ("name",),
    )
    return Leadership(elector, thread, heartbeat, heartbeats)
