"""One pod of the queue: who it is, where it waits, and how its attempts went.

Owns the record and the rule for its back-off. Assumes times are monotonic nanoseconds, except
`created_ns`, which the API server stamped and which only breaks ties. Must not move itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kpolicy.scheduler import limits
from kpolicy.telemetry.attempt import TraceContext


class Lane(StrEnum):
    """Where a pod waits; values are the `queue` label of kube-scheduler's metrics."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    PARKED = "unschedulable"
    GATED = "gated"
    ATTEMPT = "attempt"  # popped: being decided or bound; not a lane one waits in


class PendingPod(Protocol):
    """What the queue reads of a pending pod; `kpolicy.engine.PodChange` is one."""

    @property
    def uid(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def scheduler_name(self) -> str: ...
    @property
    def gated(self) -> bool: ...
    @property
    def created_ns(self) -> int: ...


@dataclass(slots=True)
class QueuedPod:
    uid: str
    namespace: str
    name: str
    priority: int
    profile: str
    created_ns: int
    # Since when it waits for this attempt: set when it comes and at each return after a failure.
    timestamp_ns: int
    lane: Lane = Lane.ATTEMPT
    # The number of its newest heap entry: older entries of the same pod are void.
    ticket: int = -1
    attempts: int = 0
    rejections: int = 0
    errors: int = 0
    # When it could first have been tried; 0 while it never could (gated).
    first_active_ns: int = 0
    # How long it had waited when it was popped.
    waited_ns: int = 0
    rejected_by: tuple[str, ...] = ()
    # An event that would have woken it came while it was being tried.
    woken_by: str = ""
    # Room is being made for it: it stays parked until that has come to an end.
    held: bool = False
    # Of its last attempt, if that was kept: the next one leads back to it.
    traced: TraceContext | None = None
    # Its present attempt is owed to the flush and not to a hint.
    flushed: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def backoff_ends_ns(self) -> int:
        """When its back-off ends; errors of ours count before rejections, as in kube-scheduler."""
        count = self.errors or self.rejections
        if count == 0:
            return self.timestamp_ns
        doublings = min(count - 1, limits.BACKOFF_DOUBLINGS_MAX)
        wait_ns = min(limits.BACKOFF_INITIAL_NS << doublings, limits.BACKOFF_NS_MAX)
        return self.timestamp_ns + wait_ns
