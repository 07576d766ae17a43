"""Puts the engine's answers into the scheduling queue, and wakes the parts that try pods.

`EngineSink` hands watched bytes to the engine, with at most one call per resource under way. Binds,
preemptions and reloads, which call the engine themselves, hand its answers to the `QueueFeed`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from kpolicy.clock import Clock
from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.resource import LinesRead, PageRead
from kpolicy.engine import Applied, PodChange, PodState, Unreadable, Wake
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.runtime import Runtime

_log = logging.getLogger(__name__)


EVERY_PROFILE = "*"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Signals:
    """How the parts of the loop wake each other. `deciding` is locked during each decision, so a
    part that holds it knows that no decision is under way."""

    to_decide: asyncio.Event = field(default_factory=asyncio.Event)
    to_ask_extenders: asyncio.Event = field(default_factory=asyncio.Event)
    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)

    def work_came(self) -> None:
        """There may be pods to try, or room for more pods."""
        self.to_decide.set()
        self.to_ask_extenders.set()


class QueueFeed:
    def __init__(self, queue: Queue, clock: Clock, signals: Signals) -> None:
        self.queue = queue
        self.signals = signals
        self._clock = clock
        self._served: frozenset[str] = frozenset()

    def serve(self, profiles: frozenset[str]) -> None:
        """From now on, only pods with these schedulerNames are queued."""
        self._served = profiles

    def serves(self, profile: str) -> bool:
        return profile in self._served or EVERY_PROFILE in self._served

    async def take_pods(self, pods: list[PodChange]) -> None:
        await self._in_slices(pods, self._take_pod)

    async def take_wakes(self, wakes: list[Wake]) -> None:
        await self._in_slices(
            wakes, lambda wake, now_ns: self.queue.wake(wake.uid, wake.event, now_ns)
        )

    async def _in_slices(self, items: list[Item], take: Callable[[Item, int], None]) -> None:
        """Splits the work, so that a page of 8,000 pods does not block the loop."""
        for start in range(0, len(items), limits.SLICE_PODS):
            if start:
                await asyncio.sleep(0)
            now_ns = self._clock.monotonic_ns()
            for item in items[start : start + limits.SLICE_PODS]:
                take(item, now_ns)
        if items:
            self.signals.work_came()

    def _take_pod(self, pod: PodChange, now_ns: int) -> None:
        if pod.change == PodState.PENDING and self.serves(pod.scheduler_name):
            self.queue.changed(pod, now_ns)
        else:
            self.queue.gone(pod.uid)


class Witness(Protocol):
    """Plugins, which see the pods that the engine sees."""

    async def page(self, resource: str, body: bytes) -> None: ...

    def lines(self, resource: str, lines: bytes) -> None: ...

    def applied(self, resource: str, applied: Applied) -> None: ...


class EngineSink:
    """The `kpolicy.cluster.watch.resource.Sink` of the engine. `on_heard` is called with the
    resource after each change that was applied."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        reservations: Reservations,
        *,
        on_heard: Callable[[str], None],
        witness: Witness | None = None,
    ) -> None:
        self._witness = witness
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
        if self._witness is not None:
            await self._witness.page(resource, body)
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
        if self._witness is not None:
            self._witness.lines(resource, lines)
        applied = await self._thread.call(self._engine.watch, resource, lines, self._clock.now_ns())
        await self._take(resource, applied)
        return LinesRead(applied.resource_version, _status(applied))

    async def _take(self, resource: str, applied: Applied) -> None:
        # First: the binds of pods placed there before the engine knew have begun by now.
        if applied.deleted_nodes:
            self._reservations.nodes_deleted(frozenset(applied.deleted_nodes))
        for pod in applied.pods:
            if pod.change == PodState.GONE:
                self._reservations.pod_deleted(pod.uid)
        for unreadable in applied.unreadable:
            self._name(resource, unreadable)
        if self._witness is not None:
            self._witness.applied(resource, applied)
        await self._feed.take_pods(applied.pods)
        await self._feed.take_wakes(applied.wakes)
        self._on_heard(resource)

    def _name(self, resource: str, unreadable: Unreadable) -> None:
        """Counts every unreadable object, and logs each object once, because it may come with every
        list."""
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


def _status(applied: Applied) -> Status | None:
    if not applied.status_code:
        return None
    return Status(applied.status_code, applied.status_reason, applied.status_message)
