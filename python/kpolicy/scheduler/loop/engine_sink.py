"""Hands watched bytes to the engine, and its answers to the queue.

Pods enter, change and leave the queue, and parked ones wake. Objects that cannot be read are logged
once. At most one call per resource is under way.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable

from kpolicy.cluster.watch.resource import LinesRead, PageRead, WatchStatus
from kpolicy.engine import Applied, Unreadable
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.runtime import Runtime

_log = logging.getLogger(__name__)


class EngineSink:
    """The `kpolicy.cluster.watch.resource.Sink` of the engine. `on_heard` is called with the
    resource after something of it was applied."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        reservations: Reservations,
        *,
        on_heard: Callable[[str], None],
    ) -> None:
        self._thread = runtime.engine
        self._engine = runtime.engine.engine
        self._clock = runtime.clock
        self._feed = feed
        self._reservations = reservations
        self._on_heard = on_heard
        self._named: OrderedDict[str, None] = OrderedDict()
        self.unreadable: Counter[str] = Counter()

    async def list_begin(self, resource: str) -> None:
        await self._thread.call(self._engine.list_begin, resource)

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        applied = await self._thread.call(
            self._engine.list_page, resource, body, self._clock.now_ns()
        )
        await self._take(resource, applied)
        return PageRead(
            applied.continue_token,
            applied.resource_version,
            applied.remaining_item_count,
            _status(applied),
        )

    async def list_end(self, resource: str, resource_version: str) -> None:
        applied = await self._thread.call(self._engine.list_end, resource, self._clock.now_ns())
        await self._take(resource, applied)

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        applied = await self._thread.call(self._engine.watch, resource, lines, self._clock.now_ns())
        await self._take(resource, applied)
        return LinesRead(applied.resource_version, _status(applied))

    async def _take(self, resource: str, applied: Applied) -> None:
        # First: the binds of pods placed there before the engine knew have begun by now.
        if applied.deleted_nodes:
            self._reservations.nodes_deleted(frozenset(applied.deleted_nodes))
        for unreadable in applied.unreadable:
            self._name(resource, unreadable)
        await self._feed.take_pods(applied.pods)
        await self._feed.take_wakes(applied.wakes)
        self._on_heard(resource)

    def _name(self, resource: str, unreadable: Unreadable) -> None:
        """Counted always, logged once for each object: it may come with every list."""
        self.unreadable[resource] += 1
        key = f"{resource}/{unreadable.object}"
        if key in self._named:
            return
        self._named[key] = None
        if len(self._named) > limits.UNREADABLE_NAMES_MAX:
            self._named.popitem(last=False)
        _log.warning(
            "cannot read %s %s: it is left out of every decision",
            resource,
            unreadable.object,
            extra={"code": unreadable.code, "reason": unreadable.message},
        )


def _status(applied: Applied) -> WatchStatus | None:
    if not applied.status_code:
        return None
    return WatchStatus(applied.status_code, applied.status_reason, applied.status_message)
