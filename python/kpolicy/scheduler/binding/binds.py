"""Binds placed pods, and ends their reservations in the engine, many in one call.

A reservation ends once, and only then may its pod be tried again. A bind whose outcome is unknown
keeps its reservation until the API server answers, and takes no place in the window meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Pulse
from kpolicy.cluster.writes.binder import Binding, BindOutcome, SettledOutcome, Unknown
from kpolicy.engine import Decision, Outcome
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.pre_binds import PreBinds
from kpolicy.scheduler.binding.reservations import BindEnd, Reservation, Reservations, bind_end
from kpolicy.scheduler.extenders.in_force import ExtenderBinds
from kpolicy.scheduler.loop.pod_try import Basis, Placement, PodTry, about
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.runtime import Runtime

POLICY_HASH = "kpolicy.dev/policy-hash"
SNAPSHOT_VERSION = "kpolicy.dev/snapshot-rv"
DECISION_ID = "kpolicy.dev/decision-id"


class Plugged(Protocol):
    """What plugins have to do with one placed pod; a `BindEnd` ends its reservation."""

    @property
    def binds(self) -> bool: ...

    async def reserve(self) -> BindEnd | None: ...

    async def pre_bind(self) -> BindEnd | None: ...

    async def bind(self, binding: Binding) -> BindOutcome | None: ...

    async def unreserve(self) -> None: ...

    async def post_bind(self) -> None: ...


# None where the pod's profile has no plugins.
Plug: TypeAlias = Callable[[Placement, Reservation], Plugged | None]


@dataclass(frozen=True, slots=True)
class BindSteps:
    """What a bind consists of. `plug` is None where there are no plugins."""

    pre_binder: PreBinds
    binder: ExtenderBinds
    plug: Plug | None = None


class Binds:
    """Run it as a task. `start` begins the bind of a placed pod as a task of `group`."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        reservations: Reservations,
        reporter: Reporter,
        steps: BindSteps,
    ) -> None:
        self._runtime = runtime
        self._feed = feed
        self._reservations = reservations
        self._reporter = reporter
        self._steps = steps
        self._ended: list[tuple[str, BindEnd]] = []  # with the uid of the pod
        self._urgent = asyncio.Event()
        self._changed = asyncio.Event()
        self.outcomes: Counter[str] = Counter()

    def start(
        self, placement: Placement, basis: Basis, pod_try: PodTry, group: asyncio.TaskGroup
    ) -> None:
        reservation = self._reservations.begin(placement.pod.uid, placement.decision.node)
        group.create_task(self._bind(placement, basis, pod_try, reservation))

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Ends reservations in the engine. Those that end at about the same time share one call."""
        while True:
            while self._ended:
                pulse.beat()
                await self._settle()
            self._changed.clear()
            pulse.rest(self._changed.is_set)
            await self._changed.wait()
            # Successful binds wait a moment for others; failed binds do not wait.
            async with self._runtime.clock.move_on_after(limits.SETTLE_LINGER_S):
                await self._urgent.wait()
            self._urgent.clear()

    async def drain(self, seconds: float) -> bool:
        """Waits for binds under way; `run` must be running. Returns False if some are left. Pods
        that wait for volumes are left to the next leader; what was written for them stays."""
        async with self._runtime.clock.move_on_after(seconds) as timeout:
            await self._reservations.drain()
        return not timeout.expired

    async def _bind(
        self, placement: Placement, basis: Basis, pod_try: PodTry, reservation: Reservation
    ) -> None:
        about(pod_try)
        decision = placement.decision
        plug = self._steps.plug
        plugged = plug(placement, reservation) if plug is not None else None
        end: BindEnd | None = None
        if plugged is not None:
            end = await plugged.reserve()
        if end is None and decision.waits_for_writes:
            end = await self._pre_bind(pod_try, decision, reservation)
        if end is None and plugged is not None:
            end = await plugged.pre_bind()
        if end is not None:
            self._reservations.close(reservation)
        else:
            end = await self._bind_now(placement, basis, pod_try, reservation, plugged)
        if decision.waits_for_writes and (end.settle is Outcome.GONE or end.retry):
            await self._steps.pre_binder.take_back(pod_try.pod, decision)
        if plugged is not None and end.settle is not Outcome.BOUND:
            await plugged.unreserve()
        pod_try.end(self._runtime.clock)
        # Unless the pod is tried again, it stays in the queue as under way until the watch shows it
        # on a node or gone: an older event that shows it pending may still come.
        if end.settle is Outcome.BOUND:
            self._reporter.bound(placement, basis, pod_try)
        else:
            is_refused = bool(end.refused_by)
            self._reporter.bind_failed(
                placement, end.message, basis, pod_try, is_refused=is_refused
            )
            self._urgent.set()
        self._ended.append((reservation.uid, end))
        self._changed.set()
        if plugged is not None and end.settle is Outcome.BOUND:
            await plugged.post_bind()

    async def _pre_bind(
        self, pod_try: PodTry, decision: Decision, reservation: Reservation
    ) -> BindEnd | None:
        """Returns None if the pod may be bound."""
        started_ns, began_ns = self._runtime.clock.now_ns(), self._runtime.clock.monotonic_ns()
        with self._reservations.volumes_awaited():
            end = await self._steps.pre_binder.pre_bind(pod_try.pod, decision, reservation)
        pod_try.volumes_ns = (started_ns, self._runtime.clock.now_ns())
        seconds = (self._runtime.clock.monotonic_ns() - began_ns) / NANOSECONDS
        self._runtime.metrics.pre_bound(pod_try.pod.profile, seconds, succeeded=end is None)
        return end

    async def _bind_now(
        self,
        placement: Placement,
        basis: Basis,
        pod_try: PodTry,
        reservation: Reservation,
        plugged: Plugged | None,
    ) -> BindEnd:
        pod = placement.pod
        annotations = {
            POLICY_HASH: basis.policy_hash,
            SNAPSHOT_VERSION: basis.snapshot_version,
            DECISION_ID: pod_try.decision_id,
            **placement.decision.annotations,
        }
        binding = Binding(pod.namespace, pod.name, pod.uid, reservation.node, annotations)
        traceparent = pod_try.trace.traceparent if pod_try.trace is not None else None
        if plugged is not None and plugged.binds:
            self._reservations.close(reservation)
            pod_try.bind_started_ns = self._runtime.clock.now_ns()
            if reservation.withdrawn is not None:
                return reservation.withdrawn
            by_plugin = await plugged.bind(binding)
            if by_plugin is not None:
                self.outcomes[type(by_plugin).__name__] += 1
                if isinstance(by_plugin, Unknown):
                    by_plugin = await self._resolve(binding, by_plugin, reservation, traceparent)
                return bind_end(by_plugin, binding.node)
        async with self._reservations.window:
            self._reservations.close(reservation)
            pod_try.bind_started_ns = self._runtime.clock.now_ns()
            if reservation.withdrawn is not None:
                return reservation.withdrawn
            # kube-scheduler does not count the bind of an extender as a plugin's.
            is_by_extender = self._steps.binder.is_by_extender(pod.uid)
            began_ns = self._runtime.clock.monotonic_ns()
            self._reservations.in_flight += 1
            try:
                with self._runtime.vitals.bind(f"{pod.namespace}/{pod.name}") as pulse:
                    outcome = await self._steps.binder.bind(binding, traceparent, pulse=pulse)
            finally:
                self._reservations.in_flight -= 1
            self.outcomes[type(outcome).__name__] += 1
        if isinstance(outcome, Unknown):
            outcome = await self._resolve(binding, outcome, reservation, traceparent)
        end = bind_end(outcome, binding.node)
        if not is_by_extender:
            seconds = (self._runtime.clock.monotonic_ns() - began_ns) / NANOSECONDS
            self._runtime.metrics.bound(pod.profile, seconds, succeeded=end.settle is Outcome.BOUND)
        return end

    async def _resolve(
        self,
        binding: Binding,
        doubt: Unknown,
        reservation: Reservation,
        traceparent: str | None,
    ) -> SettledOutcome:
        """Asks the API server until it says whether the bind was written."""
        wait_s = limits.BIND_ASK_AGAIN_S_INITIAL
        with self._reservations.doubted(reservation):
            while True:
                await self._runtime.clock.sleep(wait_s)
                wait_s = min(2 * wait_s, limits.BIND_ASK_AGAIN_S_MAX)
                async with self._reservations.window:
                    outcome = await self._steps.binder.settle(
                        binding, doubt, traceparent, may_send=reservation.may_send_again
                    )
                self.outcomes[type(outcome).__name__] += 1
                if not isinstance(outcome, Unknown):
                    return outcome
                doubt = outcome

    async def _settle(self) -> None:
        ended = self._ended[: limits.SETTLE_BATCH_MAX]
        del self._ended[: len(ended)]
        outcomes = [(uid, int(end.settle)) for uid, end in ended]
        wakes = await self._runtime.engine.call(
            self._runtime.engine.engine.settle, outcomes, self._runtime.clock.now_ns()
        )
        now_ns = self._runtime.clock.monotonic_ns()
        for uid, end in ended:
            if end.refused_by:
                self._feed.queue.refuse(uid, end.refused_by, now_ns)
            elif end.retry:
                self._feed.queue.failed(uid, now_ns)
            elif end.settle is Outcome.GONE:
                # The engine has removed the pod: a later watch event that says so changes nothing.
                self._feed.queue.gone(uid)
        self._reservations.end(len(ended))
        await self._feed.take_wakes(wakes)
        self._feed.signals.work_came()
