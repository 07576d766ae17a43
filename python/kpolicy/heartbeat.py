"""Heartbeats of the long tasks, for liveness.

A task that works, sleeps or waits for the network beats at least as often as its bound says. A task
that waits for others rests, and names the condition that wakes it. Beating costs no timer and no
lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from kpolicy.clock import NANOSECONDS, Clock


class Pulse(Protocol):
    """What a task needs of its heartbeat; it may be in any thread."""

    def beat(self) -> None:
        """It goes round."""

    def rest(self, has_work: Callable[[], bool]) -> None:
        """It waits for whoever brings it work; `has_work`: somebody did, and it is to go on."""


class _NoPulse:
    def beat(self) -> None:
        pass

    def rest(self, has_work: Callable[[], bool]) -> None:
        pass


# For a task that nobody watches.
NO_PULSE: Final[Pulse] = _NoPulse()


class Heartbeat:
    def __init__(self, name: str, clock: Clock, silent_s_max: float) -> None:
        self.name = name
        self._clock = clock
        self._silent_s_max = silent_s_max
        self._has_work: Callable[[], bool] | None = None
        self._beat_ns = clock.monotonic_ns()
        # When it was first seen to rest over work, since it beat last.
        self._owed_ns: int | None = None

    def beat(self) -> None:
        self._has_work = self._owed_ns = None
        self._beat_ns = self._clock.monotonic_ns()

    def rest(self, has_work: Callable[[], bool]) -> None:
        self.beat()
        self._has_work = has_work

    def failing(self) -> str:
        """Why it is taken for dead; empty while it is not."""
        silent_s = self._silent_ns(self._clock.monotonic_ns()) / NANOSECONDS
        if silent_s <= self._silent_s_max:
            return ""
        return f"has not gone round for {silent_s:.0f} s, {self._silent_s_max:.0f} s are allowed"

    def _silent_ns(self, now_ns: int) -> int:
        if self._has_work is None:
            return now_ns - self._beat_ns
        if not self._has_work():
            self._owed_ns = None
            return 0
        if self._owed_ns is None:
            self._owed_ns = now_ns
        return now_ns - self._owed_ns


class Heartbeats:
    """In the order in which the tasks began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_name: dict[str, Heartbeat] = {}

    def of(self, name: str, silent_s_max: float) -> Heartbeat:
        """Of a task that begins now."""
        heartbeat = Heartbeat(name, self._clock, silent_s_max)
        self.add(heartbeat)
        return heartbeat

    def add(self, heartbeat: Heartbeat) -> None:
        """Of a task that was made before and begins now."""
        heartbeat.beat()
        self._by_name[heartbeat.name] = heartbeat

    def forget(self, name: str) -> None:
        """The task was ended by us."""
        self._by_name.pop(name, None)

    def __iter__(self) -> Iterator[Heartbeat]:
        return iter(tuple(self._by_name.values()))
