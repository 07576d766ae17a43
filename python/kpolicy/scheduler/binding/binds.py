"""Binds under way: a bounded window of them, and the end of each reservation.

Owns the tasks, the batched `settle` calls and the way back into the queue. A reservation is ended
by the engine's `settle`, once; only then may its pod be tried again. A bind whose outcome is not
known keeps its reservation until somebody knows, and takes no place in the window meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kpolicy.clock import NANOSECONDS, Clock, first_of
from kpolicy.cluster.writes.binder import Binding, BindOutcome, SettledOutcome, Unknown
from kpolicy.engine import Decision, Outcome
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.reservations import BindEnd, Unsent, bind_end
from kpolicy.scheduler.loop.decide import Basis, Placement
from kpolicy.scheduler.loop.engine_sink import EngineSink
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.pod_try import PodTry, about
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import QueuedPod
from kpolicy.scheduler.loop.reporter import Reporter

POLICY_HASH = "kpolicy.dev/policy-hash"
SNAPSHOT_VERSION = "kpolicy.dev/snapshot-rv"
DECISION_ID = "kpolicy.dev/decision-id"


class BinderPort(Protocol):
    async def bind(self, binding: Binding, traceparent: str | None = None) -> BindOutcome: ...
    async def settle(
        self,
        binding: Binding,
        doubt: Unknown,
        traceparent: str | None = None,
        *,
        may_send: bool = True,
    ) -> BindOutcome: ...


class PreBinderPort(Protocol):
    async def pre_bind(self, pod: QueuedPod, decision: Decision) -> BindEnd | None: ...


@dataclass(frozen=True, slots=True)
class _Ended:
    uid: str
    settle: Outcome
    retry: bool


class Binds:
    """Run it as a task; `start` puts a placement under way in `group`."""

    def __init__(
        self,
        binder: BinderPort,
        thread: EngineThread,
        queue: Queue,
        sink: EngineSink,
        reporter: Reporter,
        *,
        pre_binder: PreBinderPort,
        clock: Clock,
        on_work: Callable[[], None],
        in_flight_max: int = limits.BINDS_IN_FLIGHT_MAX,
        unsent: Unsent | None = None,
        is_bound_elsewhere: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._binder = binder
        self._pre_binder = pre_binder
        self._thread = thread
        self._queue = queue
        self._sink = sink
        self._reporter = reporter
        self._clock = clock
        self._on_work = on_work
        self._is_bound_elsewhere = is_bound_elsewhere
        self._window = asyncio.Semaphore(in_flight_max)
        self._open_max = in_flight_max + limits.BINDS_WAITING_MAX
        self._open = 0  # reservations of ours that have not ended
        self._waiting = 0  # of them, for their volumes
        self._in_doubt = 0  # of them, sent and perhaps written
        self._sending = 0
        self._unsent = unsent if unsent is not None else Unsent()
        self._ended: list[_Ended] = []
        self._urgent = asyncio.Event()
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self.outcomes: Counter[str] = Counter()

    @property
    def room(self) -> int:
        """How many more may be assumed now."""
        aside = min(self._waiting, limits.PRE_BINDS_MAX)
        aside += min(self._in_doubt, limits.BINDS_IN_DOUBT_MAX)
        return self._open_max - self._open + aside

    @property
    def under_way(self) -> int:
        return self._open

    @property
    def in_flight(self) -> int:
        return self._sending

    def is_full(self) -> bool:
        """As many are sent as may be, and others wait for them."""
        return self._window.locked()

    @property
    def awaiting_volumes(self) -> int:
        return self._waiting

    @property
    def in_doubt(self) -> int:
        return self._in_doubt

    def start(
        self, placement: Placement, basis: Basis, pod_try: PodTry, group: asyncio.TaskGroup
    ) -> None:
        self._open += 1
        group.create_task(self._bind(placement, basis, pod_try))

    def withdraw(self, uid: str) -> bool:
        """Take a placement back whose bind was not sent yet: its pod is queued again."""
        return self._unsent.withdraw(uid)

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Tell the engine of ended binds, as many at once as have gathered."""
        while True:
            while self._ended:
                pulse.beat()
                await self._settle()
            self._changed.clear()
            pulse.rest(self._changed.is_set)
            await self._changed.wait()
            await self._linger()

    async def drain(self, seconds: float) -> bool:
        """Wait for binds under way, at most so long; `run` must be running. Pods that wait for
        volumes are left to whoever leads next: what was written for them stands."""
        async with self._clock.move_on_after(seconds):
            while self._open > self._waiting:
                self._settled.clear()
                await self._settled.wait()
        return self._open <= self._waiting

    async def _bind(self, placement: Placement, basis: Basis, pod_try: PodTry) -> None:
        about(pod_try)
        pod, decision = placement.pod, placement.decision
        annotations = {
            POLICY_HASH: basis.policy_hash,
            SNAPSHOT_VERSION: basis.snapshot_version,
            DECISION_ID: pod_try.decision_id,
        }
        binding = Binding(pod.namespace, pod.name, pod.uid, decision.node, annotations)
        traceparent = pod_try.trace.traceparent if pod_try.trace is not None else None
        taken_back = self._unsent.begin(pod.uid, decision.node)
        end = (
            await self._timed_pre_bind(pod_try, decision, taken_back) if decision.volumes else None
        )
        if end is not None:
            self._unsent.end(pod.uid)
        else:
            end = await self._ask(pod_try, binding, taken_back, traceparent)
        pod_try.end(self._clock)
        # Unless it is tried again, the pod stays in the queue as under way until the watch says
        # that it is on a node or gone: an older event of it as pending may still come before.
        if end.settle is Outcome.BOUND:
            self._reporter.bound(placement, basis, pod_try)
        else:
            self._reporter.bind_failed(placement, end.message, basis, pod_try)
        self._ended.append(_Ended(pod.uid, end.settle, end.retry))
        self._changed.set()
        if end.settle is not Outcome.BOUND:
            self._urgent.set()

    async def _timed_pre_bind(
        self, pod_try: PodTry, decision: Decision, taken_back: asyncio.Future[BindEnd]
    ) -> BindEnd | None:
        pod, started_ns = pod_try.pod, self._clock.now_ns()
        began_ns = self._clock.monotonic_ns()
        end = await self._pre_bind(pod, decision, taken_back)
        pod_try.volumes_ns = (started_ns, self._clock.now_ns())
        seconds = (self._clock.monotonic_ns() - began_ns) / NANOSECONDS
        self._reporter.metrics.pre_bound(pod.profile, seconds, succeeded=end is None)
        return end

    async def _ask(
        self,
        pod_try: PodTry,
        binding: Binding,
        taken_back: asyncio.Future[BindEnd],
        traceparent: str | None,
    ) -> BindEnd:
        pod = pod_try.pod
        async with self._window:
            self._unsent.end(pod.uid)
            pod_try.bind_started_ns = self._clock.now_ns()
            if taken_back.done():
                return taken_back.result()
            # Clause: what an extender binds is no bind of a plugin.
            is_ours = not self._is_bound_elsewhere(pod.uid)
            began_ns = self._clock.monotonic_ns()
            outcome = await self._send(binding, traceparent)
        if isinstance(outcome, Unknown):
            outcome = await self._learn(binding, outcome, traceparent)
        end = bind_end(outcome, binding.node)
        if is_ours:
            seconds = (self._clock.monotonic_ns() - began_ns) / NANOSECONDS
            succeeded = end.settle is Outcome.BOUND
            self._reporter.metrics.bound(pod.profile, seconds, succeeded=succeeded)
        return end

    async def _pre_bind(
        self, pod: QueuedPod, decision: Decision, taken_back: asyncio.Future[BindEnd]
    ) -> BindEnd | None:
        """Outside of the window: a slow one takes no other pod's place. What is written for it by
        the time when it is withdrawn stands, as by kube-scheduler."""
        self._waiting += 1
        self._on_work()

        async def withdrawn() -> BindEnd:
            return await asyncio.shield(taken_back)

        try:
            return await first_of(self._pre_binder.pre_bind(pod, decision), withdrawn())
        finally:
            self._waiting -= 1

    async def _send(self, binding: Binding, traceparent: str | None) -> BindOutcome:
        self._sending += 1
        try:
            outcome = await self._binder.bind(binding, traceparent)
        finally:
            self._sending -= 1
        self.outcomes[type(outcome).__name__] += 1
        return outcome

    async def _learn(
        self, binding: Binding, doubt: Unknown, traceparent: str | None
    ) -> SettledOutcome:
        """Ask until somebody knows. Between the questions others have the place in the window."""
        self._in_doubt += 1
        self._unsent.doubt(binding.uid, binding.node)
        self._on_work()
        wait_s = limits.BIND_ASK_AGAIN_S_INITIAL
        try:
            while True:
                await self._clock.sleep(wait_s)
                wait_s = min(2 * wait_s, limits.BIND_ASK_AGAIN_S_MAX)
                async with self._window:
                    outcome = await self._binder.settle(
                        binding,
                        doubt,
                        traceparent,
                        may_send=self._unsent.may_send_again(binding.uid),
                    )
                self.outcomes[type(outcome).__name__] += 1
                if not isinstance(outcome, Unknown):
                    return outcome
                doubt = outcome
        finally:
            self._in_doubt -= 1
            self._unsent.settled(binding.uid)

    async def _linger(self) -> None:
        """Let good news gather; bad news cuts it short."""
        async with self._clock.move_on_after(limits.SETTLE_LINGER_S):
            await self._urgent.wait()
        self._urgent.clear()

    async def _settle(self) -> None:
        ended = self._ended[: limits.SETTLE_BATCH_MAX]
        del self._ended[: len(ended)]
        outcomes = [(end.uid, int(end.settle)) for end in ended]
        wakes = await self._thread.call(self._thread.engine.settle, outcomes, self._clock.now_ns())
        now_ns = self._clock.monotonic_ns()
        for end in ended:
            if end.retry:
                self._queue.failed(end.uid, now_ns)
            # The engine has let go of it: a watch event that says so later is news to nobody.
            elif end.settle is Outcome.GONE and self._queue.gone(end.uid) is not None:
                self._reporter.left(end.uid)
        self._open -= len(ended)
        self._settled.set()
        await self._sink.take_wakes(wakes)
        self._on_work()
