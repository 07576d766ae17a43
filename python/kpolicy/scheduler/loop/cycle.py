"""The deciding loop: pops a batch of pods, decides it in one engine call, and acts on the answer.

Between the engine's answer and the queue there is no `await`, so that no watch event slips in
between. Where the policy orders the queue or holds pods, the engine is first asked whose turn it
is. The loop pauses while a new program is put in force (B6).
"""

from __future__ import annotations

import asyncio

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.extended_pods import ExtendedPods
from kpolicy.scheduler.loop.consequences import Consequences, take
from kpolicy.scheduler.loop.pod_try import Basis
from kpolicy.scheduler.loop.policy_order import PolicyOrder
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.runtime import Runtime


class Cycle:
    """Run it as a task when the first lists are complete and this replica leads."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        consequences: Consequences,
        *,
        extended: ExtendedPods | None,
    ) -> None:
        self._runtime = runtime
        self._queue = feed.queue
        self._work = feed.signals.to_decide
        self._deciding = feed.signals.deciding
        self._consequences = consequences
        self._extended = extended
        self._batch_pods = limits.BATCH_PODS_MAX
        self._stopped = False

    def stop(self) -> None:
        """Takes no more pods from the queue. Decisions under way still become binds."""
        self._stopped = True
        if self._extended is not None:
            self._extended.stop()
        self._work.set()

    async def run(
        self, group: asyncio.TaskGroup, pulse: Pulse = NO_PULSE, *, once: bool = False
    ) -> None:
        """`once`: ends when no pod can be tried now, and no consequence of a decision is under
        way. Pods that back off are not waited for then."""
        while not self._stopped:
            self._work.clear()
            # A reload that holds the lock may wait for lists.
            pulse.beat(limits.ADDED_RESOURCE_SYNC_S if self._deciding.locked() else 0.0)
            async with self._deciding:
                pulse.beat()
                popped = await self._tick(group)
            if popped:
                continue
            if not once:
                pulse.rest(self._has_work)
                await self._rest()
                continue
            are_asked = self._extended is not None and self._extended.under_way
            if not (self._consequences.under_way or are_asked or self._queue.asks_plugins):
                return
            pulse.rest(self._work.is_set)
            await self._work.wait()

    async def _tick(self, group: asyncio.TaskGroup) -> int:
        """Decides the next batch. Returns how many pods it took from the queue."""
        limit = 0 if self._stopped else self._limit()
        if limit <= 0:
            return 0
        now_ns = self._runtime.clock.monotonic_ns()
        batch, held = self._queue.pop_batch(limit, now_ns), 0
        order = self._queue.by_policy
        if order is not None and order.is_to_ask and len(batch) < limit:
            held = await self._ask(order, limit - len(batch), now_ns, batch)
        popped = len(batch) + held
        if not batch:
            return popped
        if self._extended is not None:
            batch = await self._extended.take(batch)
            if not batch:
                return popped
        self._runtime.metrics.batch_pods.observe(len(batch))
        started_ns, started_monotonic_ns = (
            self._runtime.clock.now_ns(),
            self._runtime.clock.monotonic_ns(),
        )
        scheduled = await self._runtime.engine.call(
            self._runtime.engine.engine.schedule, [pod.uid for pod in batch], started_ns
        )
        basis = Basis(
            scheduled.program_hash, scheduled.resource_version, started_ns, started_monotonic_ns
        )
        batch_outcome = take(
            self._queue, batch, scheduled.decisions, self._runtime.clock.monotonic_ns()
        )
        self._resize(len(batch), batch_outcome.took_ns)
        self._consequences.act(batch_outcome, basis, group)
        return popped

    async def _ask(self, order: PolicyOrder, limit: int, now_ns: int, batch: list[Attempt]) -> int:
        """Adds the pods to `batch` whose turn it is by the policy. Returns how many it holds from
        now on, and at least 1 if the engine is to be asked again at once."""
        engine = self._runtime.engine
        entered, left = order.news()
        following = await engine.call(
            engine.engine.next_pods, entered, left, limit, now_ns, self._runtime.clock.now_ns()
        )
        for fault in following.faults:
            if (failed := order.note(fault, self._runtime.clock.now_ns())) is not None:
                self._consequences.failed(failed)
        batch += self._queue.pop_told(following.picked, now_ns)
        for held in following.held:
            pod = self._queue.hold_by_policy(held.uid, held.hold, now_ns)
            if pod is not None:
                self._consequences.held(pod, held)
        return len(following.held) + following.is_more

    def _limit(self) -> int:
        """Room becomes free pod by pod. With many waiting pods, the loop waits until there is room
        for a batch."""
        room = self._consequences.room
        if room < min(limits.BATCH_PODS_WORTH, self._batch_pods, self._queue.active):
            return 0
        return min(self._batch_pods, room)

    def _resize(self, popped: int, took_ns: int) -> None:
        """The size of the next batch: half if this one took too long, double if it was full and
        quick."""
        if took_ns > limits.BATCH_NS_MAX:
            self._batch_pods = max(1, popped // 2)
        elif popped == self._batch_pods and took_ns < limits.BATCH_NS_MAX // 4:
            self._batch_pods = min(2 * self._batch_pods, limits.BATCH_PODS_MAX)

    def _has_work(self) -> bool:
        ends_ns = self._queue.next_ready_ns() if self._consequences.room > 0 else None
        is_due = ends_ns is not None and ends_ns <= self._runtime.clock.monotonic_ns()
        return self._work.is_set() or is_due

    async def _rest(self) -> None:
        """Waits for work: a poke, or the end of a back-off."""
        ends_ns = self._queue.next_ready_ns()
        if ends_ns is None or self._consequences.room <= 0:
            await self._work.wait()
            return
        left_s = (ends_ns - self._runtime.clock.monotonic_ns()) / NANOSECONDS
        async with self._runtime.clock.move_on_after(left_s):
            await self._work.wait()
