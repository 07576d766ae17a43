"""The pods of the queue that are pending longest, as /debug/queue shows them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from kpolicy.clock import NANOSECONDS
from kpolicy.scheduler.loop.queued_pod import QueuedPod


def longest_pending(pods: Iterable[QueuedPod], count: int, now_ns: int) -> list[dict[str, Any]]:
    """Since they could first be tried; pods with gates, since they came into the queue."""
    chosen = heapq.nsmallest(count, pods, key=lambda pod: (_since_ns(pod), pod.key))
    return [
        {
            "pod": pod.key,
            "scheduler": pod.profile,
            "priority": pod.priority,
            "queue": pod.lane.value,
            "pendingSeconds": round((now_ns - _since_ns(pod)) / NANOSECONDS, 1),
            "attempts": pod.attempts,
            "rejectedBy": list(pod.rejected_by),
        }
        for pod in chosen
    ]


def _since_ns(pod: QueuedPod) -> int:
    return pod.first_active_ns or pod.timestamp_ns
