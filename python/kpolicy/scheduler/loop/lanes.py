"""The lanes of the scheduling queue: where each pod waits, and in which order.

A pod that would become active first waits in the gated lane if plugins are to be asked about it.
One that a hold of the policy holds back waits there too; the engine says when that begins and ends.
Why a pod changes its lane is the queue's business.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Final, Protocol

from kpolicy.scheduler.loop.policy_order import PolicyOrder
from kpolicy.scheduler.loop.queued_pod import (
    ASKING,
    Attempt,
    Key,
    Lane,
    LaneHeap,
    QueuedPod,
    QueuePeriods,
)

# Events of the queue's own making, by the names kube-scheduler's metrics have for them.
BACKOFF_COMPLETE: Final = "BackoffComplete"
POPPED_EARLY: Final = "PopFromBackoffQ"
# An event of kpolicy: a hold of the policy holds the pod.
HELD: Final = "PolicyHold"


class Admission(Protocol):
    """Asks plugins whether pods may be tried; the answer comes by the queue's `admit`, `hold` or
    `fail_admission`."""

    @property
    def orders(self) -> bool:
        """Whether a plugin orders the queue."""

    def asks(self, profile: str) -> bool: ...

    def ask(self, pod: Attempt) -> None: ...


class Lanes:
    def __init__(self, periods: QueuePeriods, admission: Admission | None) -> None:
        tickets = itertools.count()
        self.periods = periods
        self._admission = admission
        self._is_ordered = admission is not None and admission.orders
        self.active = LaneHeap(tickets)
        # Where the engine tells whose turn it is, active pods wait there. None: it does not.
        self.by_policy: PolicyOrder | None = None
        self.backoff = LaneHeap(tickets)
        # Pods that failed through no fault of their own, or that a plugin refused. They are never
        # taken from the queue before their back-off ends.
        self.error_backoff = LaneHeap(tickets)
        # In the order of timestamps, as pods enter at the end.
        self.parked: dict[str, QueuedPod] = {}
        self.gated: dict[str, QueuedPod] = {}
        self._by_arrival = {Lane.PARKED: self.parked, Lane.GATED: self.gated}
        # Pods that a plugin refused, parked and gated ones: any event wakes them.
        self.refused: dict[str, QueuedPod] = {}
        # How often something happened that may change the answer of a plugin.
        self.news = 0
        self.incoming: Counter[tuple[str, ...]] = Counter()

    def enter(self, pod: QueuedPod, lane: Lane, event: str) -> None:
        """`pod` is in no lane; it may be gated instead of active, while plugins are asked."""
        if (
            lane is Lane.ACTIVE
            and self._admission is not None
            and not pod.is_admitted
            and self._admission.asks(pod.profile)
        ):
            lane, pod.held_by, pod.news_seen = Lane.GATED, ASKING, self.news
            self._admission.ask(pod.attempt())
        pod.lane = lane
        self.incoming[lane, event] += 1
        if self.by_policy is not None:
            if lane is Lane.ACTIVE:
                self.by_policy.enter(pod)
                return
            if lane is Lane.GATED or pod.held:
                self.by_policy.leave(pod.uid)
            else:
                self.by_policy.rest(pod)
        if lane in self._by_arrival:
            self._by_arrival[lane][pod.uid] = pod
        elif lane is Lane.ACTIVE:
            self.active.push(self._order(pod), pod)
        else:
            key = (pod.backoff_ends_ns(self.periods), *self._order(pod))
            self._backoff_of(pod).push(key, pod)

    def leave(self, pod: QueuedPod) -> None:
        is_told = self.by_policy is not None and pod.uid in self.by_policy
        if self.by_policy is not None and is_told:
            self.by_policy.leave(pod.uid)
        if not (is_told and pod.lane is Lane.ACTIVE):
            self._take_out(pod)
        pod.held_by = ""

    def _take_out(self, pod: QueuedPod) -> None:
        """Out of the lane in which it is, but for those that the engine tells."""
        if pod.is_refused:
            self.refused.pop(pod.uid, None)
        if pod.lane in self._by_arrival:
            del self._by_arrival[pod.lane][pod.uid]
        elif pod.lane is Lane.ACTIVE:
            self.active.leave(pod)
        elif pod.lane is Lane.BACKOFF:
            self._backoff_of(pod).leave(pod)

    def rest(self, pod: QueuedPod) -> None:
        """Its victims are evicted: it is parked as others are."""
        if self.by_policy is not None:
            self.by_policy.rest(pod)

    def retry(self, pod: QueuedPod, event: str, now_ns: int) -> None:
        """From its lane to the active one, or into back-off until that is over."""
        self.leave(pod)
        in_backoff = pod.backoff_ends_ns(self.periods) > now_ns
        self.enter(pod, Lane.BACKOFF if in_backoff else Lane.ACTIVE, event)

    def reorder(self, pod: QueuedPod) -> None:
        """The priority of an active pod has changed."""
        if self.by_policy is None or pod.uid not in self.by_policy:
            self.active.leave(pod)
            self.active.push(self._order(pod), pod)

    def again(self, pod: QueuedPod, event: str) -> None:
        """The engine did not come to this pod, and handed it out already: it is next."""
        pod.lane = Lane.ACTIVE
        self.incoming[Lane.ACTIVE, event] += 1
        self.active.push(self._order(pod), pod)

    def follow_policy(self, *, is_ordered: bool, holds_pods: bool) -> None:
        """There is another program. `is_ordered`: the engine tells whose turn it is; `holds_pods`:
        and whom it holds. All that wait are told to it anew; nobody is held until it says so."""
        waiting: list[QueuedPod] = []
        while (pod := self.active.pop()) is not None:
            waiting.append(pod)
        if self.by_policy is not None:
            waiting += self.by_policy.ready.values()
            for pod in self.by_policy.held.values():
                pod.held_by = ""
                del self.gated[pod.uid]
                waiting.append(pod)
        self.by_policy = PolicyOrder(holds_pods=holds_pods) if is_ordered else None
        if self.by_policy is not None and holds_pods:
            for pod in (*self.parked.values(), *self.backoff, *self.error_backoff):
                if not pod.held:
                    self.by_policy.rest(pod)
        for pod in waiting:
            pod.lane = Lane.ACTIVE
            if self.by_policy is not None:
                self.by_policy.enter(pod)
            else:
                self.active.push(self._order(pod), pod)

    def take(self, uid: str) -> QueuedPod | None:
        """The engine says that this pod is next; None: it left meanwhile."""
        pod = self.by_policy.take(uid) if self.by_policy is not None else None
        if pod is not None and pod.lane is not Lane.ACTIVE:
            pod.held_by = ""
            self._take_out(pod)
        return pod

    def hold(self, uid: str, hold: str) -> QueuedPod | None:
        """The engine says that a hold of the policy holds this pod; None: it left meanwhile."""
        pod = self.by_policy.hold(uid, hold) if self.by_policy is not None else None
        if pod is not None:
            if pod.lane is not Lane.GATED:
                self.incoming[Lane.GATED, HELD] += 1
                if pod.lane is not Lane.ACTIVE:
                    self._take_out(pod)
            pod.lane = Lane.GATED
            self.gated[uid] = pod
        return pod

    def end_backoffs(self, limit: int, now_ns: int) -> None:
        """Pods whose back-off is over become active. If none is active then, so do the first of
        those that back off without an error, at most `limit`."""
        for heap in (self.backoff, self.error_backoff):
            while (ends := heap.first_key()) is not None and ends[0] <= now_ns:
                pod = heap.pop()
                if pod is not None:
                    self.enter(pod, Lane.ACTIVE, BACKOFF_COMPLETE)
        if self.active_pods:
            return
        for _ in range(limit):
            pod = self.backoff.pop()
            if pod is None:
                return
            self.enter(pod, Lane.ACTIVE, POPPED_EARLY)

    def older_than(self, time_ns: int, limit: int) -> list[QueuedPod]:
        """Pods that have been parked, or refused by a plugin, since then or for longer."""
        old: list[QueuedPod] = []
        for pod in self.parked.values():
            if pod.timestamp_ns > time_ns or len(old) == limit:
                break
            if not pod.held:
                old.append(pod)
        for pod in self.refused.values():
            if pod.lane is Lane.GATED and pod.timestamp_ns <= time_ns and len(old) < limit:
                old.append(pod)
        return old

    def next_ready_ns(self) -> int | None:
        """When the back-off of the next failed pod ends; None if no failed pod waits."""
        ends = self.error_backoff.first_key()
        return None if ends is None else ends[0]

    @property
    def active_pods(self) -> int:
        by_policy = len(self.by_policy.ready) if self.by_policy is not None else 0
        return len(self.active) + by_policy

    def sizes(self) -> tuple[int, int, int, int]:
        """How many pods are active, in back-off, parked and gated."""
        in_backoff = len(self.backoff) + len(self.error_backoff)
        return self.active_pods, in_backoff, len(self.parked), len(self.gated)

    def _backoff_of(self, pod: QueuedPod) -> LaneHeap:
        return self.error_backoff if pod.errors or pod.is_refused else self.backoff

    def _order(self, pod: QueuedPod) -> Key:
        if self._is_ordered:
            key = pod.sort_key
            first = (pod.is_set_aside, key is None, key or ())
            return (*first, -pod.priority, pod.timestamp_ns, pod.created_ns)
        return (pod.is_set_aside, -pod.priority, pod.timestamp_ns, pod.created_ns)
