"""Restarts `kpolicy run` when it ends, as a kubelet does, and records how it ended. Exit code 1
because of a lost lease is not a failure; the tests judge all other exits.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.e2e.scheduler_process import SchedulerProcess

LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class End:
    code: int
    at_s: float  # of `time.monotonic`, when it was found ended


class Supervised:
    """A context manager around a `SchedulerProcess`; `ends` are exits that no test caused."""

    def __init__(self, process: SchedulerProcess) -> None:
        self.process = process
        self.ends: list[End] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="supervisor", daemon=True)

    def __enter__(self) -> Self:
        self.process.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()
        self.process.kill()

    def _look(self) -> None:
        while not self._stopped.wait(LOOK_EVERY_S):
            if not self.process.alive:
                self.ends.append(End(self.process.ended(0), time.monotonic()))
                self.process.start()
