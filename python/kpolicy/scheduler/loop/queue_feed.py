"""Puts the engine's answers into the scheduling queue, and wakes the parts that try pods.

It stands below all who call the engine: informers, binds, preemptions and reloads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from kpolicy.clock import Clock
from kpolicy.engine import PodChange, PodState, Wake
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queue import Queue

EVERY_PROFILE = "*"


@dataclass(frozen=True, slots=True)
class Signals:
    """How the parts of the loop wake each other.

    `deciding` is held during each decision: whoever else holds it knows that none is under way.
    """

    to_decide: asyncio.Event = field(default_factory=asyncio.Event)
    to_ask_extenders: asyncio.Event = field(default_factory=asyncio.Event)
    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)

    def work_came(self) -> None:
        """There may be pods to try, or room for more of them."""
        self.to_decide.set()
        self.to_ask_extenders.set()


class QueueFeed:
    """`on_left` is called with the uid of each pod that leaves the queue because it is gone, on a
    node, or served by nobody."""

    def __init__(
        self, queue: Queue, clock: Clock, signals: Signals, *, on_left: Callable[[str], None]
    ) -> None:
        self.queue = queue
        self.signals = signals
        self._clock = clock
        self._on_left = on_left
        self._served: frozenset[str] = frozenset()

    def serve(self, profiles: frozenset[str]) -> None:
        """Only pods of these schedulerNames are ever queued."""
        self._served = profiles

    def serves(self, profile: str) -> bool:
        return profile in self._served or EVERY_PROFILE in self._served

    def remove(self, uid: str) -> None:
        if self.queue.gone(uid) is not None:
            self._on_left(uid)

    async def take_pods(self, pods: list[PodChange]) -> None:
        """In slices: a page of 8,000 pods must not hold up the loop."""
        for start in range(0, len(pods), limits.SLICE_PODS):
            if start:
                await asyncio.sleep(0)
            now_ns = self._clock.monotonic_ns()
            for pod in pods[start : start + limits.SLICE_PODS]:
                if pod.change == PodState.PENDING and self.serves(pod.scheduler_name):
                    self.queue.changed(pod, now_ns)
                else:
                    self.remove(pod.uid)
        if pods:
            self.signals.work_came()

    async def take_wakes(self, wakes: list[Wake]) -> None:
        for start in range(0, len(wakes), limits.SLICE_PODS):
            if start:
                await asyncio.sleep(0)
            now_ns = self._clock.monotonic_ns()
            for wake in wakes[start : start + limits.SLICE_PODS]:
                self.queue.wake(wake.uid, wake.event, now_ns)
        if wakes:
            self.signals.work_came()
