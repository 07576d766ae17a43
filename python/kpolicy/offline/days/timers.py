"""What is to happen later in simulated days, in the order of time; at one time, as it was set."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum


class Timer(IntEnum):
    """Why there is a timer. `END`: the lifetime of a pod is over. `VANISH`: the grace period of an
    evicted pod is. `WAITING`: pods wait, and time may let them be tried. `READY`: a back-off is
    over."""

    END = 0
    VANISH = 1
    WAITING = 2
    READY = 3


class Timers:
    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._heap: list[tuple[int, int, Timer, str]] = []

    def later(self, at_ns: int, timer: Timer, uid: str = "") -> None:
        """`uid`: of the pod that it is about."""
        heapq.heappush(self._heap, (at_ns, next(self._numbers), timer, uid))

    @property
    def next_ns(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now_ns: int) -> Iterator[tuple[Timer, str]]:
        """Those that are over, also those that are set meanwhile."""
        while self._heap and self._heap[0][0] <= now_ns:
            _, _, timer, uid = heapq.heappop(self._heap)
            yield timer, uid
