"""Keeps a sink up to date with one resource: lists it, watches it, and recovers from failures.

What follows each outcome is decided by `watch_plan`, which is pure. The sink works out the
differences when a list is repeated.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from random import Random

from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.limits import (
    EXEC_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    WATCH_TIMEOUT_S_MAX,
    WATCH_TIMEOUT_S_MIN,
)
from kpolicy.cluster.request_failure import Failure, requested_wait_s
from kpolicy.cluster.watch.listing import Listed, WatchRequest, read_list, read_watch
from kpolicy.cluster.watch.resource import LinesRead, Resource, Sink, newer_of
from kpolicy.cluster.watch.watch_plan import Plan, after_list, after_watch


@dataclass(frozen=True, slots=True)
class InformerStatistics:
    resource: str
    synced: bool = False
    reachable: bool = False  # whether the last list or watch was answered
    resource_version: str = ""
    last_event_monotonic_ns: int = 0  # when bytes last arrived
    bytes_read: int = 0
    lists: int = 0  # completed lists
    relists: int = 0  # completed lists after the first
    reconnects: int = 0  # watches after the first
    failures: int = 0
    last_error: str = ""  # empty again once bytes arrive


class Informer:
    """Run it as a task. It ends only when cancelled."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        sink: Sink,
        clock: Clock,
        random: Random,
    ) -> None:
        self._client = client
        self._resource = resource
        self._sink = sink
        self._clock = clock
        self._random = random
        self._plan = Plan()
        self._statistics = InformerStatistics(resource.name)
        self._synced = asyncio.Event()
        self._stop = asyncio.Event()  # ends the watch under way
        self._wanted: asyncio.Event | None = None  # set by a list that starts from now on
        self._serving: asyncio.Event | None = None  # set by the list under way
        self._watched = False
        self._pulse = NO_PULSE

    def statistics(self) -> InformerStatistics:
        return self._statistics

    async def wait_synced(self) -> None:
        """Wait until the sink has the first complete list."""
        await self._synced.wait()

    async def list_anew(self) -> None:
        """List again from the start, and wait until that list is complete."""
        if self._wanted is None:
            self._wanted = asyncio.Event()
        wanted = self._wanted
        self._stop.set()
        await wanted.wait()

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        self._pulse = pulse
        try:
            await self._run(pulse)
        finally:  # nobody may wait for a list that will not come
            for waited_for in (self._wanted, self._serving):
                if waited_for is not None:
                    waited_for.set()

    async def _run(self, pulse: Pulse) -> None:
        while True:
            pulse.beat()
            self._stop.clear()
            if self._wanted is not None:
                self._serving, self._wanted = self._wanted, None
            if self._serving is not None:  # at once, of a state not older than what was seen
                self._plan = replace(self._plan, list_needed=True, wait_s=0.0)
            verb = "list" if self._plan.list_needed else "watch"
            await (self._list() if verb == "list" else self._watch())
            if self._plan.error:
                self._note_error(verb, self._plan.failure, self._plan.error)
            if self._plan.wait_s > 0:
                pulse.beat(self._plan.wait_s)
                await self._clock.sleep(self._plan.wait_s)

    def _await_page(self) -> None:
        self._pulse.beat(EXEC_TIMEOUT_S + REQUEST_TIMEOUT_S)

    async def _list(self) -> None:
        self._await_page()
        outcome = await read_list(
            self._client,
            self._resource,
            self._sink,
            seen=self._plan.resource_version,
            not_older_than=self._plan.list_version,
            page_objects=self._plan.page_objects,
            refuse_stale=self._plan.refuse_stale,
            pause=self._pause,
            on_page=self._await_page,
        )
        if isinstance(outcome, Listed):
            self._note_bytes(outcome.bytes_read, outcome.resource_version)
            self._note_list(outcome.resource_version)
        self._plan = after_list(
            self._plan, outcome, self._clock.monotonic_ns(), self._random.random()
        )

    async def _watch(self) -> None:
        request = WatchRequest(
            self._plan.resource_version,
            timeout_s=self._random.randint(WATCH_TIMEOUT_S_MIN, WATCH_TIMEOUT_S_MAX),
        )
        if self._watched:
            self._statistics = replace(self._statistics, reconnects=self._statistics.reconnects + 1)
        self._watched = True
        began_ns = self._clock.monotonic_ns()
        outcome = await read_watch(
            self._client,
            self._resource,
            self._sink,
            clock=self._clock,
            request=request,
            stop=self._stop,
            on_open=self._on_open,
            on_read=self._on_read,
            pulse=self._pulse,
        )
        now_ns = self._clock.monotonic_ns()
        self._plan = after_watch(
            self._plan, outcome, now_ns - began_ns, now_ns, self._random.random()
        )

    def _on_open(self) -> None:
        """Note that the server has accepted the watch; the first event may come a minute later."""
        self._client.outages.answered(self._resource)
        self._pulse.beat()
        self._statistics = replace(self._statistics, reachable=True)

    def _on_read(self, size: int, read: LinesRead) -> None:
        self._pulse.beat()
        if read.status is None:
            self._note_bytes(size, read.resource_version)

    async def _pause(self, failure: Failure) -> None:
        """Wait before a page is requested again, as after any failure."""
        wait = self._plan.backoff.failed(
            self._clock.monotonic_ns(), self._random.random(), requested_wait_s(failure)
        )
        self._plan = replace(self._plan, backoff=wait.backoff)
        self._note_error("list", failure, str(failure))
        self._pulse.beat(wait.seconds)
        await self._clock.sleep(wait.seconds)
        self._await_page()

    def _note_list(self, resource_version: str) -> None:
        lists = self._statistics.lists + 1
        self._statistics = replace(
            self._statistics,
            synced=True,
            resource_version=resource_version,
            lists=lists,
            relists=lists - 1,
        )
        self._synced.set()
        if self._serving is not None:
            self._serving.set()
            self._serving = None

    def _note_bytes(self, size: int, resource_version: str) -> None:
        if self._statistics.last_error:
            self._client.outages.answered(self._resource)
        self._statistics = replace(
            self._statistics,
            last_event_monotonic_ns=self._clock.monotonic_ns(),
            bytes_read=self._statistics.bytes_read + size,
            resource_version=newer_of(self._statistics.resource_version, resource_version),
            reachable=True,
            last_error="",
        )

    def _note_error(self, verb: str, failure: Failure | None, error: str) -> None:
        self._client.outages.failed(self._resource, verb, failure, error)
        failures = self._statistics.failures + 1
        self._statistics = replace(
            self._statistics, reachable=False, failures=failures, last_error=error
        )
