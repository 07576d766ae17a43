"""What `/livez` asks of a scheduler that runs: the engine's call under way, and every long task.

Owns the checks by name. A task is among them from when it begins. None of them asks the API server,
so that an outage restarts nobody. Must not know what tasks do.
"""

from __future__ import annotations

from collections.abc import Iterator

from kpolicy.heartbeat import Heartbeats
from kpolicy.scheduler import limits
from kpolicy.scheduler.engine_port import EngineThread
from kpolicy.telemetry.health_server import Check, ping


class Liveness:
    """Checks, gone through anew with each request: tasks come and go."""

    def __init__(self, thread: EngineThread, heartbeats: Heartbeats) -> None:
        self._thread = thread
        self._heartbeats = heartbeats
        self.process = (ping(), Check("engine", self._engine))

    def __iter__(self) -> Iterator[Check]:
        yield from self.process
        for heartbeat in self._heartbeats:
            yield Check(heartbeat.name, heartbeat.failing)

    def _engine(self) -> str:
        busy_s = self._thread.busy_s()
        return f"a call takes {busy_s:.0f} s" if busy_s > limits.ENGINE_CALL_S_MAX else ""
