"""Heartbeats of the long tasks, for liveness.

A task that works, sleeps or waits for the network beats at least as often as its bound says. A task
that waits for other tasks rests, and names the condition that wakes it. Beating needs neither a
timer nor a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kpolicy.clock import NANOSECONDS, Clock


class Pulse:
    """What a task reports about itself, from any thread. This one drops the reports."""

    def beat(self) -> None:
        """The task is working."""

    def rest(self, has_work: Callable[[], bool]) -> None:
        """The task waits for work. `has_work` says whether there is work by now."""


NO_PULSE: Final = Pulse()


class Heartbeat(Pulse):
    """Remembers when a task last reported, and says when it has been silent for too long."""

    def __init__(self, name: str, clock: Clock, silent_s_max: float) -> None:
        self.name = name
        self._clock = clock
        self._silent_s_max = silent_s_max
        self._has_work: Callable[[], bool] | None = None
        self._beat_ns = clock.monotonic_ns()
        # Since its last beat: when the task was first found waiting although there is work.
        self._owed_ns: int | None = None

    def beat(self) -> None:
        self._has_work = self._owed_ns = None
        self._beat_ns = self._clock.monotonic_ns()

    def rest(self, has_work: Callable[[], bool]) -> None:
        self.beat()
        self._has_work = has_work

    def failing(self) -> str:
        """Why the task counts as dead; empty while it does not."""
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
    """The heartbeats of all tasks, in the order in which the tasks began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_name: dict[str, Heartbeat] = {}

    def of(self, name: str, silent_s_max: float) -> Heartbeat:
        """The heartbeat of a task that begins now."""
        heartbeat = Heartbeat(name, self._clock, silent_s_max)
        self.add(heartbeat)
        return heartbeat

    def add(self, heartbeat: Heartbeat) -> None:
        """Adds the heartbeat of a task that was made before and begins now."""
        heartbeat.beat()
        self._by_name[heartbeat.name] = heartbeat

    def forget(self, name: str) -> None:
        """Drops the heartbeat of a task that kpolicy itself ended."""
        self._by_name.pop(name, None)

    def __iter__(self) -> Iterator[Heartbeat]:
        return iter(tuple(self._by_name.values()))
