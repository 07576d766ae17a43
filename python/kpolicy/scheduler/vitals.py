"""Watches the parts without which nothing is decided, so that a replica that hangs does not lead.

A task on the event loop looks at the other tasks and at the binds under way. The elector's thread
looks at that task and at the engine. Each counts only time that it has seen pass: a process that
was stopped and continued is not taken for one that hangs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Clock, Heartbeat, Pulse, background_group
from kpolicy.scheduler import limits

# Key, name, a value that changes while the part works (None: it has nothing to do), and how long it
# may be silent.
Part: TypeAlias = tuple[object, str, object, float]

# A late look is not the fault of the parts: it counts at most so long.
_LOOK_NS_MAX: Final = round(2 * limits.VITAL_LOOK_S * NANOSECONDS)


class Worker(Protocol):
    """The engine's thread."""

    def progress(self) -> tuple[int, int] | None: ...

    async def ping(self) -> None: ...


class Vitals:
    def __init__(self, clock: Clock, engine: Worker) -> None:
        self._clock = clock
        self._engine = engine
        self._tasks: dict[str, Heartbeat] = {}
        self._binds: set[Heartbeat] = set()
        self._on_loop = _Observer(clock)
        self._beside = _Observer(clock)
        self._looks = 0
        self._failing = ""

    def add(self, task: Heartbeat) -> None:
        self._tasks[task.name] = task

    def forget(self, name: str) -> None:
        self._tasks.pop(name, None)

    @contextmanager
    def bind(self, pod: str) -> Iterator[Pulse]:
        """The bind of this pod is under way, and beats before each of its requests."""
        heartbeat = Heartbeat(f"the bind of pod {pod}", self._clock, limits.VITAL_SILENT_S_MAX)
        self._binds.add(heartbeat)
        try:
            yield heartbeat
        finally:
            self._binds.discard(heartbeat)

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Run it as a task on the event loop while this replica leads or wants to."""
        async with background_group() as group:
            ping = group.create_task(self._engine.ping())
            call = self._engine.progress()
            while True:
                pulse.beat()
                await self._clock.sleep(limits.VITAL_LOOK_S)
                if ping.done():
                    ping = group.create_task(self._engine.ping())
                before, call = call, self._engine.progress()
                # Many tasks wait while one call of the engine works for long.
                is_long = before is not None and call is not None and before[0] == call[0]
                self._failing = self._on_loop.look(
                    self._parts(), counts=not (is_long and before != call)
                )
                self._looks += 1

    def inability(self) -> str:
        """Why this replica cannot decide; empty while it can. For the elector's thread, which calls
        it every half second."""
        silent_s = limits.VITAL_SILENT_S_MAX
        parts: list[Part] = [
            ("loop", "the event loop", self._looks, silent_s),
            ("engine", "the engine", self._engine.progress(), silent_s),
        ]
        return self._beside.look(parts) or self._failing

    def _parts(self) -> Iterable[Part]:
        for name, task in self._tasks.items():
            yield name, f"task {name}", *_state(task)
        for bind in self._binds:
            yield bind, bind.name, *_state(bind)


def _state(heartbeat: Heartbeat) -> tuple[object, float]:
    value = heartbeat.beats if heartbeat.is_at_work else None
    return value, limits.VITAL_SILENT_S_MAX + heartbeat.waits_s


class _Observer:
    """Compares what parts show from look to look."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looked_ns: int | None = None
        self._seen: dict[object, tuple[object, int]] = {}  # the value, and for how long

    def look(self, parts: Iterable[Part], *, counts: bool = True) -> str:
        """Which part has been silent for too long. Without `counts`, the time since the last look
        does not count as silence."""
        now_ns = self._clock.monotonic_ns()
        since_ns = now_ns - (now_ns if self._looked_ns is None else self._looked_ns)
        passed_ns = min(since_ns, _LOOK_NS_MAX) if counts else 0
        self._looked_ns = now_ns
        failing, seen = "", {}
        for key, name, value, silent_s_max in parts:
            value_before, silent_ns = self._seen.get(key, (None, 0))
            is_silent = value is not None and value == value_before
            silent_ns = silent_ns + passed_ns if is_silent else 0
            seen[key] = (value, silent_ns)
            if silent_ns > silent_s_max * NANOSECONDS and not failing:
                failing = f"{name} has made no progress for {silent_ns / NANOSECONDS:.0f} s"
        self._seen = seen
        return failing
