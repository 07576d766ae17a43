"""Pods about which extenders are asked: which of a batch these are, and some of them at a time.

Owns their order while they wait, and the tries of each. A choice and a new program exclude each
other, so that one decision follows one program. Must not know what is asked: `two_steps` does.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from kpolicy.clock import Clock
from kpolicy.engine import Decision, Verdict
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.extender_binds import ExtenderBinds
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Extenders, ExtendersInForce
from kpolicy.scheduler.extenders.two_steps import TwoSteps
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.decide import Basis, take
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.pod_try import PodTry, about
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Lane, QueuedPod


@dataclass(slots=True)
class _Pod:
    pod: QueuedPod
    requested: frozenset[str]


class ExtendedPods:
    """Run it as a task. `work` is set where there may be some."""

    def __init__(
        self,
        thread: EngineThread,
        queue: Queue,
        in_force: ExtendersInForce,
        two_steps: TwoSteps,
        consequences: Consequences,
        *,
        binds: ExtenderBinds,
        clock: Clock,
        between: asyncio.Lock,
        group: asyncio.TaskGroup,
        work: asyncio.Event,
        begin: Callable[[QueuedPod], PodTry],
        on_work: Callable[[], None],
    ) -> None:
        self.in_force = in_force
        self._thread = thread
        self._queue = queue
        self._two_steps = two_steps
        self._consequences = consequences
        self._binds = binds
        self._clock = clock
        self._between = between
        self._group = group
        self._work = work
        self._begin = begin
        self._on_work = on_work
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int, int, _Pod]] = []
        self._asking = 0
        self._stopped = False

    @property
    def under_way(self) -> int:
        """Pods that wait to be asked about, or are."""
        return len(self._waiting) + self._asking

    def poke(self) -> None:
        self._work.set()

    def stop(self) -> None:
        """Ask about no more; answers that still come become binds."""
        self._stopped = True

    async def take(self, batch: list[QueuedPod]) -> list[QueuedPod]:
        """Keep those about which somebody is to be asked; the others."""
        extenders = self.in_force.now
        if not extenders.by_profile:
            return batch
        candidates = [pod for pod in batch if pod.profile in extenders.by_profile]
        requested: list[list[str]] = [[] for _ in candidates]
        if candidates and extenders.managed:
            requested = await self._thread.call(
                self._thread.engine.requested, [pod.uid for pod in candidates], extenders.managed
            )
        kept = set()
        for pod, names in zip(candidates, requested, strict=True):
            one = _Pod(pod, frozenset(names))
            if _interested(extenders, one):
                kept.add(pod.uid)
                entry = (-pod.priority, pod.timestamp_ns, next(self._tickets), one)
                heapq.heappush(self._waiting, entry)
        self.poke()
        return [pod for pod in batch if pod.uid not in kept]

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        while True:
            self._work.clear()
            while (
                self._waiting
                and not self._stopped
                and self._asking < limits.EXTENDED_PODS_MAX
                and self._consequences.room > 0
            ):
                *_, one = heapq.heappop(self._waiting)
                if self._is_ours(one.pod):
                    self._asking += 1
                    self._group.create_task(self._decide(one), name="extenders")
            pulse.rest(self._work.is_set)
            await self._work.wait()

    # --- one pod ---------------------------------------------------------------------------------

    async def _decide(self, one: _Pod) -> None:
        pod_try = self._begin(one.pod)
        about(pod_try)
        try:
            for _ in range(limits.EXTENDED_TRIES_MAX):
                if await self._try(one, pod_try):
                    return
            await self._fail(pod_try, "the cluster changed while extenders were asked")
        finally:
            self._asking -= 1
            self.poke()
            self._on_work()

    async def _try(self, one: _Pod, pod_try: PodTry) -> bool:
        """False: what was asked about is out of date."""
        extenders = self.in_force.now
        clients = _interested(extenders, one)
        answers = await self._two_steps.ask(pod_try, clients)
        if answers is None:
            self._queue.gone(one.pod.uid)
            return True
        if answers.asked.error:
            await self._fail(pod_try, answers.asked.error)
            return True
        async with self._between:
            if self.in_force.now is not extenders:
                return False
            basis = await self._two_steps.basis()
            decision = await self._two_steps.choose(one.pod.uid, answers, basis)
            if decision.verdict == Verdict.STALE:
                return False
            if decision.verdict == Verdict.PLACED:
                self._binds.expect(one.pod.uid, clients)
            self._act(pod_try, decision, basis)
        return True

    async def _fail(self, pod_try: PodTry, why: str) -> None:
        self._act(pod_try, _failed(pod_try.pod, why), await self._two_steps.basis())

    def _act(self, pod_try: PodTry, decision: Decision, basis: Basis) -> None:
        taken = take(self._queue, [pod_try.pod], [decision], self._clock.monotonic_ns())
        self._consequences.act(taken, basis, self._group, pod_try)

    def _is_ours(self, pod: QueuedPod) -> bool:
        """It may have gone, or have come again, while it waited."""
        return self._queue.get(pod.uid) is pod and pod.lane is Lane.ATTEMPT


def _interested(extenders: Extenders, one: _Pod) -> list[ExtenderClient]:
    own = extenders.by_profile.get(one.pod.profile, ())
    return [client for client in own if client.is_interested(one.requested)]


def _failed(pod: QueuedPod, message: str) -> Decision:
    """Of a cycle that an extender broke off."""
    return Decision(
        Verdict.FAILED,
        pod.uid,
        pod.namespace,
        pod.name,
        "",
        message,
        0,
        0,
        0,
        0,
        0,
        0,
        "",
        [],
        [],
        [],
        [],
    )
