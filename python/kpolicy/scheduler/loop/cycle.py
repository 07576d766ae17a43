"""The loop that decides: pop a batch, one engine call, then what follows.

Owns when a batch is popped and how large it is. Decides first and acts second: between the answer
of the engine and the queue there is no await, so that no delta slips between. Must not bind or
evict itself. Paused for the moment in which a new program is put in force (B6).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.extended_pods import ExtendedPods
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.decide import Basis, Taken, take
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics


@dataclass(frozen=True, slots=True)
class Ticked:
    popped: int
    taken: Taken


class Cycle:
    """Run it as a task, after the lists are whole and we lead. `poke` when there may be work."""

    def __init__(
        self,
        thread: EngineThread,
        queue: Queue,
        consequences: Consequences,
        metrics: SchedulerMetrics,
        *,
        clock: Clock,
        batch_pods_max: int = limits.BATCH_PODS_MAX,
        extended: ExtendedPods | None = None,
        between: asyncio.Lock | None = None,
        work: asyncio.Event | None = None,
    ) -> None:
        self._thread = thread
        self._queue = queue
        self._consequences = consequences
        self._metrics = metrics
        self._clock = clock
        self._batch_pods_max = batch_pods_max
        self._batch_pods = batch_pods_max
        self._extended = extended
        self._work = work or asyncio.Event()  # set where there may be some
        self._stopped = False
        # Held for one tick; whoever else holds it knows that no decision is under way.
        self.between = between or asyncio.Lock()

    def poke(self) -> None:
        self._work.set()

    def stop(self) -> None:
        """Pop nothing more. Decisions under way still become binds."""
        self._stopped = True
        if self._extended is not None:
            self._extended.stop()
        self._work.set()

    async def run(self, group: asyncio.TaskGroup, pulse: Pulse = NO_PULSE) -> None:
        while not self._stopped:
            pulse.beat()
            self._work.clear()
            async with self.between:
                ticked = await self.tick(group)
            if not ticked.popped:
                pulse.rest(self._has_work)
                await self._rest()

    async def run_once(self, group: asyncio.TaskGroup, pulse: Pulse = NO_PULSE) -> None:
        """Until nothing is left that can be tried now, and nothing that followed is under way."""
        while not self._stopped:
            pulse.beat()
            self._work.clear()
            async with self.between:
                ticked = await self.tick(group)
            if not ticked.popped:
                if not (self._consequences.under_way or self._asked_about):
                    return
                pulse.rest(self._work.is_set)
                await self._work.wait()

    async def tick(self, group: asyncio.TaskGroup) -> Ticked:
        limit = 0 if self._stopped else self._limit()
        batch = self._queue.pop_batch(limit, self._clock.monotonic_ns()) if limit > 0 else []
        if not batch:
            return Ticked(0, Taken())
        popped = len(batch)
        if self._extended is not None:
            batch = await self._extended.take(batch)
            if not batch:
                return Ticked(popped, Taken())
        self._metrics.batch_pods.observe(len(batch))
        started_ns, started_monotonic_ns = self._clock.now_ns(), self._clock.monotonic_ns()
        scheduled = await self._thread.call(
            self._thread.engine.schedule, [pod.uid for pod in batch], started_ns
        )
        basis = Basis(
            scheduled.program_hash, scheduled.resource_version, started_ns, started_monotonic_ns
        )
        taken = take(self._queue, batch, scheduled.decisions, self._clock.monotonic_ns())
        self._resize(len(batch), taken.took_ns)
        self._consequences.act(taken, basis, group)
        return Ticked(popped, taken)

    @property
    def _asked_about(self) -> int:
        return self._extended.under_way if self._extended is not None else 0

    def _limit(self) -> int:
        """Room trickles back pod by pod: with many waiting it is gathered for a batch."""
        room = self._consequences.room
        if room < min(limits.BATCH_PODS_WORTH, self._batch_pods, self._queue.active):
            return 0
        return min(self._batch_pods, room)

    def _resize(self, popped: int, took_ns: int) -> None:
        """The next batch: half when this one took too long, double when it was full and quick."""
        if took_ns > limits.BATCH_NS_MAX:
            self._batch_pods = max(1, popped // 2)
        elif popped == self._batch_pods and took_ns < limits.BATCH_NS_MAX // 4:
            self._batch_pods = min(2 * self._batch_pods, self._batch_pods_max)

    def _has_work(self) -> bool:
        ends_ns = self._queue.next_ready_ns() if self._consequences.room > 0 else None
        is_due = ends_ns is not None and ends_ns <= self._clock.monotonic_ns()
        return self._work.is_set() or is_due

    async def _rest(self) -> None:
        """Until there is work: a poke, or the end of a back-off."""
        ends_ns = self._queue.next_ready_ns()
        if ends_ns is None or self._consequences.room <= 0:
            await self._work.wait()
            return
        left_s = (ends_ns - self._clock.monotonic_ns()) / NANOSECONDS
        async with self._clock.move_on_after(left_s):
            await self._work.wait()
