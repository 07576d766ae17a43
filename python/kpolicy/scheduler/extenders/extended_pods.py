"""Decides the pods that extenders are interested in, a few at a time.

No choice is made while a new program is put in force, so that one decision follows one program.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from dataclasses import dataclass

from kpolicy.engine import Decision, Verdict
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.extender_binds import ExtenderBinds
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Extenders, ExtendersInForce
from kpolicy.scheduler.extenders.two_steps import TwoSteps
from kpolicy.scheduler.loop.consequences import Consequences
from kpolicy.scheduler.loop.decide import Basis, take
from kpolicy.scheduler.loop.pod_try import PodTry, about
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.runtime import Runtime


@dataclass(slots=True)
class _Pod:
    pod: Attempt
    requested: frozenset[str]


class ExtendedPods:
    """Run it as a task. `work` is set where there may be some."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        consequences: Consequences,
        *,
        in_force: ExtendersInForce,
        two_steps: TwoSteps,
        binds: ExtenderBinds,
    ) -> None:
        self.in_force = in_force
        self._thread = runtime.engine
        self._clock = runtime.clock
        self._queue = feed.queue
        self._signals = feed.signals
        self._consequences = consequences
        self._two_steps = two_steps
        self._binds = binds
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int, int, _Pod]] = []
        self._asking = 0
        self._stopped = False

    @property
    def under_way(self) -> int:
        """Pods that wait to be asked about, or are."""
        return len(self._waiting) + self._asking

    def stop(self) -> None:
        """Ask about no more; answers that still come become binds."""
        self._stopped = True

    async def take(self, batch: list[Attempt]) -> list[Attempt]:
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
            waiting = _Pod(pod, frozenset(names))
            if _interested(extenders, waiting):
                kept.add(pod.uid)
                entry = (-pod.priority, pod.timestamp_ns, next(self._tickets), waiting)
                heapq.heappush(self._waiting, entry)
        self._signals.to_ask_extenders.set()
        return [pod for pod in batch if pod.uid not in kept]

    async def run(self, group: asyncio.TaskGroup, pulse: Pulse = NO_PULSE) -> None:
        work = self._signals.to_ask_extenders
        while True:
            work.clear()
            while (
                self._waiting
                and not self._stopped
                and self._asking < limits.EXTENDED_PODS_MAX
                and self._consequences.room > 0
            ):
                *_, waiting = heapq.heappop(self._waiting)
                if self._queue.is_under_way(waiting.pod):
                    self._asking += 1
                    group.create_task(self._decide(waiting, group), name="extenders")
            pulse.rest(work.is_set)
            await work.wait()

    # --- one pod ---------------------------------------------------------------------------------

    async def _decide(self, waiting: _Pod, group: asyncio.TaskGroup) -> None:
        pod_try = self._consequences.begin(waiting.pod)
        about(pod_try)
        try:
            for _ in range(limits.EXTENDED_TRIES_MAX):
                if await self._try(waiting, pod_try, group):
                    return
            await self._fail(pod_try, group, "the cluster changed while extenders were asked")
        finally:
            self._asking -= 1
            self._signals.work_came()

    async def _try(self, waiting: _Pod, pod_try: PodTry, group: asyncio.TaskGroup) -> bool:
        """False: what was asked about is out of date."""
        extenders = self.in_force.now
        clients = _interested(extenders, waiting)
        answers = await self._two_steps.ask(pod_try, clients)
        if answers is None:
            self._queue.gone(waiting.pod.uid)
            return True
        if answers.asked.error:
            await self._fail(pod_try, group, answers.asked.error)
            return True
        async with self._signals.deciding:
            if self.in_force.now is not extenders:
                return False
            basis = await self._two_steps.basis()
            decision = await self._two_steps.choose(waiting.pod.uid, answers, basis)
            if decision.verdict == Verdict.STALE:
                return False
            if decision.verdict == Verdict.PLACED:
                self._binds.expect(waiting.pod.uid, clients)
            self._act(pod_try, group, decision, basis)
        return True

    async def _fail(self, pod_try: PodTry, group: asyncio.TaskGroup, why: str) -> None:
        self._act(pod_try, group, _failed(pod_try.pod, why), await self._two_steps.basis())

    def _act(
        self, pod_try: PodTry, group: asyncio.TaskGroup, decision: Decision, basis: Basis
    ) -> None:
        taken = take(self._queue, [pod_try.pod], [decision], self._clock.monotonic_ns())
        self._consequences.act(taken, basis, group, pod_try)


def _interested(extenders: Extenders, waiting: _Pod) -> list[ExtenderClient]:
    own = extenders.by_profile.get(waiting.pod.profile, ())
    return [client for client in own if client.is_interested(waiting.requested)]


def _failed(pod: Attempt, message: str) -> Decision:
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
