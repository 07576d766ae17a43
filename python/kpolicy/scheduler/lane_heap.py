"""A heap of queued pods from which any pod can leave at once.

Owns lazy removal: a pod's ticket names its one valid entry, others are dropped when they surface,
and the heap is built anew when they outnumber the valid ones. Must not know what the keys mean.
"""

from __future__ import annotations

import heapq
import itertools

from kpolicy.scheduler import limits
from kpolicy.scheduler.queued_pod import QueuedPod

Key = tuple[int, ...]


class LaneHeap:
    __slots__ = ("_entries", "_live", "_tickets")

    def __init__(self, tickets: itertools.count[int]) -> None:
        # Tickets are unique over all heaps that share the counter, so that pods never compare.
        self._tickets = tickets
        self._entries: list[tuple[Key, int, QueuedPod]] = []
        self._live = 0

    def __len__(self) -> int:
        return self._live

    def push(self, key: Key, pod: QueuedPod) -> None:
        pod.ticket = next(self._tickets)
        heapq.heappush(self._entries, (key, pod.ticket, pod))
        self._live += 1

    def leave(self, pod: QueuedPod) -> None:
        """Take out a pod that is in this heap."""
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
        pod = self.first()
        if pod is not None:
            heapq.heappop(self._entries)
            pod.ticket = -1
            self._live -= 1
        return pod
