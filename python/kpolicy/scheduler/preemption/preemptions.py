"""Preemptions under way: writes the nomination, evicts the victims, and tells the engine.

The pod is held in the queue meanwhile, so that it has one preemption at a time. Then it waits for
its victims to leave, or backs off if not all could be evicted. The engine chose the victims.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.writes.evictor import Evicted, Eviction, EvictionOutcome, Evictor
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.loop.pod_try import PodTry, Rejection, about
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.preemption.room import Plan, Room, plan
from kpolicy.scheduler.runtime import Runtime

# A claim to a node that is given up counts as a pod deleted from it, as in kube-scheduler.
CLAIM_GONE = "AssignedPodDelete"


class Preemptions:
    """`start` begins a preemption in `group`, for a pod that the queue holds until the preemption
    ends."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        reservations: Reservations,
        reporter: Reporter,
        *,
        evictor: Evictor,
    ) -> None:
        self._runtime = runtime
        self._feed = feed
        self._reservations = reservations
        self._reporter = reporter
        self._evictor = evictor
        self._window = asyncio.Semaphore(limits.EVICTIONS_IN_FLIGHT_MAX)
        # By uid. Two pods may have the same victim, which is evicted once.
        self._evicting: dict[str, asyncio.Future[EvictionOutcome]] = {}
        self._ended = asyncio.Event()
        # By uid, the pods for which room is being made and whose nominations hold.
        self._nominated: set[str] = set()
        self.under_way = 0
        self.outcomes: Counter[str] = Counter()

    def start(self, rejection: Rejection, pod_try: PodTry, group: asyncio.TaskGroup) -> None:
        self.under_way += 1
        wanted = plan(rejection.pod, rejection.decision)
        if wanted.evictions:
            self._runtime.metrics.preemption_victims.observe(wanted.victims_total)
        self._displace(wanted)
        self._nominated.add(rejection.pod.uid)
        group.create_task(self._make_room(wanted, pod_try))

    async def drain(self, seconds: float) -> bool:
        """Waits for preemptions under way, at most for this time."""
        async with self._runtime.clock.move_on_after(seconds):
            while self.under_way:
                self._ended.clear()
                await self._ended.wait()
        return not self.under_way

    def _displace(self, wanted: Plan) -> None:
        """As in kube-scheduler: pods whose nominations are cleared are tried again at once."""
        for uid in wanted.displaced:
            self._nominated.discard(uid)
            pod = self._feed.queue.get(uid)
            if pod is not None:
                self._reporter.status.release(pod.namespace, pod.name, uid)
                self._feed.queue.wake(uid, CLAIM_GONE, self._runtime.clock.monotonic_ns())

    async def _make_room(self, wanted: Plan, pod_try: PodTry) -> None:
        about(pod_try)
        room, began_ns = Room(wanted), self._runtime.clock.monotonic_ns()
        started_ns = self._runtime.clock.now_ns()
        # If this process ends here, the next leader finds the nomination, and gives the room to no
        # other pod.
        if not await self._is_claimed(wanted.pod.uid):
            if wanted.pod.uid in self._nominated:
                room.give_up(f"the nomination to {wanted.node} could not be written")
            else:
                room.displace()
        room.spent(
            "write nomination", started_ns, self._runtime.clock.now_ns(), failure=room.trouble
        )
        for evictions in (wanted.together, wanted.last):
            async with asyncio.TaskGroup() as group:
                for eviction in evictions:
                    group.create_task(self._evict(eviction, room))
        wakes = await self._runtime.engine.call(
            self._runtime.engine.engine.settle_room,
            wanted.pod.uid,
            room.evicted,
            self._runtime.clock.now_ns(),
            is_made=room.is_made,
        )
        self._reporter.followed(room.step(started_ns, self._runtime.clock.now_ns()), pod_try)
        self._end(room, (self._runtime.clock.monotonic_ns() - began_ns) / NANOSECONDS)
        await self._feed.take_wakes(wakes)
        self._feed.signals.work_came()

    async def _is_claimed(self, uid: str) -> bool:
        """Whether the API server has accepted the nomination. If it never does, the pod must not be
        held for ever: there may be room for it by now."""
        async with self._runtime.clock.move_on_after(limits.ROOM_CLAIM_S_MAX):
            return await self._reporter.status.written(uid)
        return False

    def _end(self, room: Room, seconds: float) -> None:
        pod, now_ns = room.plan.pod, self._runtime.clock.monotonic_ns()
        self.under_way -= 1
        self._nominated.discard(pod.uid)
        self._ended.set()
        self._reporter.room_settled(room, seconds)
        if room.is_made:
            self._feed.queue.release(pod.uid, now_ns)
        else:
            self._feed.queue.fail_held(pod.uid, now_ns)

    async def _evict(self, eviction: Eviction, room: Room) -> None:
        async with self._window:
            if not self._is_wanted(room.plan.pod.uid):
                room.give_up("")
            if room.is_over:
                return
            # As in kube-scheduler: a pod whose bind was not sent need not be evicted. Its room is
            # free once the reservation is settled.
            if self._reservations.withdraw(eviction.uid):
                self.outcomes["Withdrawn"] += 1
                self._reporter.preempted(room.plan, eviction, in_memory=True)
                return
            started_ns = self._runtime.clock.now_ns()
            # If another preemption evicts the same victim, waits for that request.
            shared = self._evicting.get(eviction.uid)
            evicted = asyncio.shield(shared) if shared is not None else self._evict_once(eviction)
            outcome = await evicted
        room.take(eviction, outcome)
        room.evicting(eviction, outcome, started_ns, self._runtime.clock.now_ns())
        if shared is None and isinstance(outcome, Evicted):
            self._reporter.preempted(room.plan, eviction)

    async def _evict_once(self, eviction: Eviction) -> EvictionOutcome:
        """Evicts the victim; other preemptions may wait for the answer meanwhile."""
        answered: asyncio.Future[EvictionOutcome] = asyncio.get_running_loop().create_future()
        self._evicting[eviction.uid] = answered
        try:
            outcome = await self._evictor.evict(eviction)
            answered.set_result(outcome)
        finally:
            answered.cancel()  # only if there was no answer
            del self._evicting[eviction.uid]
        self.outcomes[type(outcome).__name__] += 1
        return outcome

    def _is_wanted(self, uid: str) -> bool:
        """Whether the pod still waits for the room. It may have been deleted, or bound by another
        scheduler."""
        pod = self._feed.queue.get(uid)
        return pod is not None and pod.held
