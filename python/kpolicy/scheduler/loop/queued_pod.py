"""A pod in the scheduling queue, the lanes it can wait in, and the heap that orders a lane.

Times are monotonic nanoseconds, except `created_ns`, which the API server set and which only breaks
ties.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from kpolicy.api_times import NANOSECONDS
from kpolicy.engine import PodChange
from kpolicy.policy.assembly.queue_periods import WrittenPeriods
from kpolicy.scheduler import limits
from kpolicy.telemetry.attempt import TraceContext


@dataclass(frozen=True, slots=True)
class QueuePeriods:
    """How long pods wait in the queue; the defaults are kube-scheduler's. A pod that did not fit or
    failed backs off, from the first to the second of these times. One that was parked longer than
    `parked_ns_max` is tried again, which is checked each `flush_period_s`."""

    backoff_initial_ns: int = limits.BACKOFF_INITIAL_NS
    backoff_ns_max: int = limits.BACKOFF_NS_MAX
    parked_ns_max: int = limits.PARKED_NS_MAX
    flush_period_s: float = limits.FLUSH_PERIOD_S

    @property
    def flush_period_ns(self) -> int:
        return round(self.flush_period_s * NANOSECONDS)

    def changed(self, written: WrittenPeriods) -> QueuePeriods:
        """With what a policy says. The longest back-off is at least the first one, whoever says
        them."""
        first = _nanoseconds(written.pod_initial_backoff, self.backoff_initial_ns)
        longest = _nanoseconds(written.pod_max_backoff, self.backoff_ns_max)
        flush_s = written.flush_period
        return QueuePeriods(
            first,
            max(first, longest),
            _nanoseconds(written.flush_after, self.parked_ns_max),
            self.flush_period_s if flush_s is None else flush_s,
        )


def _nanoseconds(seconds: float | None, otherwise: int) -> int:
    return otherwise if seconds is None else round(seconds * NANOSECONDS)


# For `QueuedPod.held_by`; no plugin has such a name.
ASKING = "*"


class Lane(StrEnum):
    """The lane in which a pod waits; values are the `queue` label of kube-scheduler's metrics."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    PARKED = "unschedulable"
    GATED = "gated"
    ATTEMPT = "attempt"  # popped: being decided or bound; not a lane one waits in


class Attempt(NamedTuple):
    """One attempt to place a pod: the pod and its counts, as they were when the queue handed it
    out. The queue's own record may change meanwhile."""

    uid: str
    namespace: str
    name: str
    generation: int
    priority: int
    profile: str
    timestamp_ns: int
    attempts: int
    first_active_ns: int
    waited_ns: int
    is_flushed: bool
    previous: TraceContext | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True)
class QueuedPod:
    """The queue's record of a pod."""

    uid: str
    namespace: str
    name: str
    priority: int
    profile: str
    created_ns: int
    # `metadata.generation`, 0 if it has none.
    generation: int
    # The beginning of its wait for this attempt: set when it enters the queue, and at each return
    # after a failure.
    timestamp_ns: int
    lane: Lane = Lane.ATTEMPT
    # The number of its newest heap entry. Older entries of the same pod are ignored.
    ticket: int = -1
    attempts: int = 0
    rejections: int = 0
    errors: int = 0
    # When it could first be tried; 0 while it has scheduling gates.
    first_active_ns: int = 0
    # How long it had waited when it was popped.
    waited_ns: int = 0
    rejected_by: tuple[str, ...] = ()
    # The event that would have woken it, if one came while it was being tried.
    woken_by: str = ""
    # Its victims are being evicted: it stays parked until the preemption ends.
    held: bool = False
    # The trace of its last attempt, if that was kept: the next trace links to it.
    traced: TraceContext | None = None
    # The present attempt was caused by the periodic flush and not by a hint.
    flushed: bool = False
    # The plugin whose PreEnqueue holds it, or `ASKING` while plugins are asked; empty: neither.
    held_by: str = ""
    # Plugins have let it be tried.
    is_admitted: bool = False
    # The plugin that orders the queue gave it this key.
    sort_key: tuple[float, ...] | None = None
    # A plugin refused it: it is not tried before its back-off is over.
    is_refused: bool = False
    # How much had happened when plugins were asked, or when it was popped.
    news_seen: int = 0
    # To judge it takes more work than one decision may. It is tried last, and backs off for longer.
    is_set_aside: bool = False

    @classmethod
    def of(cls, pending: PodChange, now_ns: int) -> QueuedPod:
        """A pod that comes into the queue."""
        return cls(
            pending.uid,
            pending.namespace,
            pending.name,
            pending.priority,
            pending.scheduler_name,
            pending.created_ns,
            pending.generation,
            timestamp_ns=now_ns,
        )

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def attempt(self) -> Attempt:
        return Attempt(
            self.uid,
            self.namespace,
            self.name,
            self.generation,
            self.priority,
            self.profile,
            self.timestamp_ns,
            self.attempts,
            self.first_active_ns,
            self.waited_ns,
            self.flushed,
            self.traced,
        )

    def backoff_ends_ns(self, periods: QueuePeriods) -> int:
        """When its back-off ends. Errors count before rejections, as in kube-scheduler."""
        count = self.errors or self.rejections
        if count == 0:
            return self.timestamp_ns
        doublings = min(count - 1, limits.BACKOFF_DOUBLINGS_MAX)
        longest_ns = periods.backoff_ns_max
        if self.is_set_aside:
            longest_ns = max(longest_ns, limits.SET_ASIDE_BACKOFF_NS_MAX)
        return self.timestamp_ns + min(periods.backoff_initial_ns << doublings, longest_ns)


Key = tuple[Any, ...]


class LaneHeap:
    __slots__ = ("_entries", "_live", "_tickets")

    def __init__(self, tickets: itertools.count[int]) -> None:
        # Tickets are unique over all heaps that share the counter, so that pods never compare.
        self._tickets = tickets
        self._entries: list[tuple[Key, int, QueuedPod]] = []
        self._live = 0

    def __len__(self) -> int:
        return self._live

    def __iter__(self) -> Iterator[QueuedPod]:
        return (pod for _, ticket, pod in self._entries if ticket == pod.ticket)

    def push(self, key: Key, pod: QueuedPod) -> None:
        pod.ticket = next(self._tickets)
        heapq.heappush(self._entries, (key, pod.ticket, pod))
        self._live += 1

    def leave(self, pod: QueuedPod) -> None:
        """Removes a pod that is in this heap."""
        pod.ticket = -1
        self._live -= 1
        if len(self._entries) > 2 * self._live + limits.STALE_ENTRIES_MIN:
            self._entries = [entry for entry in self._entries if entry[1] == entry[2].ticket]
            heapq.heapify(self._entries)

    def first(self) -> QueuedPod | None:
        entries = self._entries
        while entries and entries[0][1] != entries[0][2].ticket:
            heapq.heappop(entries)
        return entries[0][2] if entries else None

    def first_key(self) -> Key | None:
        return self._entries[0][0] if self.first() is not None else None

    def pop(self) -> QueuedPod | None:
        entries = self._entries
        while entries:
            _, ticket, pod = heapq.heappop(entries)
            if ticket == pod.ticket:
                pod.ticket = -1
                self._live -= 1
                return pod
        return None
