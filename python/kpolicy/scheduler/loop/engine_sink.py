"""Hands watched bytes to the engine, and its answers to the queue.

Pods enter, change and leave the queue, and parked ones wake. Objects that cannot be read are logged
once. At most one call per resource is under way.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable

from kpolicy.clock import Clock
from kpolicy.cluster.watch.resource import LinesRead, PageRead, WatchStatus
from kpolicy.engine import Applied, PodChange, PodState, Unreadable, Wake
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.reservations import Unsent
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.queue import Queue

_log = logging.getLogger(__name__)

EVERY_PROFILE = "*"
_NODES = "nodes"


class EngineSink:
    """`on_work` hears that there may be pods to try; `on_left`, that a pod needs us no more;
    `on_heard`, of which resource something came."""

    def __init__(
        self,
        thread: EngineThread,
        queue: Queue,
        clock: Clock,
        *,
        on_work: Callable[[], None],
        on_left: Callable[[str], None],
        on_heard: Callable[[str], None] = lambda resource: None,
        unsent: Unsent | None = None,
    ) -> None:
        self._engine = thread.engine
        self._thread = thread
        self._queue = queue
        self._clock = clock
        self._on_work = on_work
        self._on_left = on_left
        self._on_heard = on_heard
        self._unsent = unsent if unsent is not None else Unsent()
        self._served: frozenset[str] = frozenset()
        self._named: OrderedDict[str, None] = OrderedDict()
        self.unreadable: Counter[str] = Counter()

    def serve(self, profiles: frozenset[str]) -> None:
        """Only pods of these schedulerNames are ever queued."""
        self._served = profiles

    def serves(self, profile: str) -> bool:
        return profile in self._served or EVERY_PROFILE in self._served

    # --- kpolicy.cluster.watch.resource.Sink -----------------------------------------------------

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
        if resource == _NODES and self._unsent:
            held = _nodes_of(await self._thread.call(self._engine.holdings))
            self._unsent.nodes_left(lambda node: node not in held)
        await self._take(resource, applied)

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        applied = await self._thread.call(self._engine.watch, resource, lines, self._clock.now_ns())
        # What was placed before the engine knew is in the hands of the binds by now.
        if resource == _NODES and (deleted := deleted_in(lines)):
            self._unsent.nodes_left(deleted.__contains__)
        await self._take(resource, applied)
        return LinesRead(applied.resource_version, _status(applied))

    # --- what the engine answered ----------------------------------------------------------------

    async def _take(self, resource: str, applied: Applied) -> None:
        for unreadable in applied.unreadable:
            self._name(resource, unreadable)
        await self.take_pods(applied.pods)
        await self.take_wakes(applied.wakes)
        self._on_heard(resource)

    async def take_pods(self, pods: list[PodChange]) -> None:
        """In slices: a page of 8,000 pods must not hold up the loop."""
        for start in range(0, len(pods), limits.SLICE_PODS):
            if start:
                await asyncio.sleep(0)
            now_ns = self._clock.monotonic_ns()
            for pod in pods[start : start + limits.SLICE_PODS]:
                if pod.change == PodState.PENDING and self.serves(pod.scheduler_name):
                    self._queue.changed(pod, now_ns)
                elif self._queue.gone(pod.uid) is not None:
                    self._on_left(pod.uid)
        if pods:
            self._on_work()

    async def take_wakes(self, wakes: list[Wake]) -> None:
        for start in range(0, len(wakes), limits.SLICE_PODS):
            if start:
                await asyncio.sleep(0)
            now_ns = self._clock.monotonic_ns()
            for wake in wakes[start : start + limits.SLICE_PODS]:
                self._queue.wake(wake.uid, wake.event, now_ns)
        if wakes:
            self._on_work()

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


_WORD = b'"DELETED"'


def deleted_in(lines: bytes) -> frozenset[str]:
    if _WORD not in lines:
        return frozenset()
    names = (_deleted(line) for line in lines.splitlines() if _WORD in line)
    return frozenset(name for name in names if name)


def _deleted(line: bytes) -> str:
    """Empty for what cannot be read: the engine names it."""
    try:
        event = json.loads(line)
        return str(event["object"]["metadata"]["name"]) if event["type"] == "DELETED" else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _nodes_of(holdings: bytes) -> frozenset[str]:
    """The first line of `Engine.holdings`: names of nodes."""
    return frozenset(json.loads(holdings.partition(b"\n")[0]))
