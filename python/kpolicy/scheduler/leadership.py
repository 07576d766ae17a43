"""Whether we may act: leader election in a thread of its own, or always.

Owns the lease thread and the wait for its turn. Assumes a connection of its own for the thread: it
must renew while the main loop is stuck. What a loss does is the caller's: outside a test the
process ends at once, without waiting for anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.lease import Elector, LeaseStatistics
from kpolicy.cluster.lease_record import LeaseTerms
from kpolicy.cluster.limits import LEASE_SILENT_S_MAX
from kpolicy.heartbeat import Heartbeat, Heartbeats
from kpolicy.scheduler.machine import Machine
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import Problem, of_connection
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics


class Leadership:
    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        random: Random,
        *,
        terms: LeaseTerms,
        options: Options,
        machine: Machine,
        on_lost: Callable[[], None],
        heartbeats: Heartbeats,
    ) -> None:
        self._heartbeats = heartbeats
        self._heartbeat = Heartbeat("lease", clock, LEASE_SILENT_S_MAX)
        client = ApiClient(connection, clock, user_agent="kpolicy-lease", connections_max=1)
        self._elector = Elector(
            client,
            clock,
            random,
            terms,
            namespace=options.lease_namespace,
            name=options.lease_name,
            identity=machine.identity,
            pulse=self._heartbeat,
        )
        self._thread = machine.elector_thread(client, self._elector, on_lost)
        self._started = False

    def fence(self) -> bool:
        return self._elector.fence()

    def statistics(self) -> LeaseStatistics:
        return self._elector.statistics()

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
    clock: Clock,
    random: Random,
    *,
    options: Options,
    machine: Machine,
    metrics: SchedulerMetrics,
    on_lost: Callable[[], None],
    heartbeats: Heartbeats,
) -> Leadership | Problem:
    """Not led yet: `acquire` waits for the turn."""
    terms = options.lease_terms()
    if not isinstance(terms, LeaseTerms):
        return of_connection(terms)
    name = options.lease_name
    leadership = Leadership(
        connection,
        clock,
        random,
        terms=terms,
        options=options,
        machine=machine,
        on_lost=on_lost,
        heartbeats=heartbeats,
    )
    metrics.watch(
        "leader_election_master_status",
        "gauge",
        "1 while we lead.",
        lambda: {(name,): int(leadership.fence())},
        ("name",),
    )
    return leadership
