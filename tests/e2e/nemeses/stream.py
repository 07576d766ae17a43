"""Creates pods one after the other from its own thread, and records when each was created. If the
API server refuses a pod or does not answer, the pod is sent again.
"""

from __future__ import annotations

import http.client
import threading
import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from tests.cluster.client import wait_for
from tests.cluster.connection import ApiError
from tests.e2e.stage import WITHIN_S, Stage

# Fast until there are many pods, then slower, because a fault may last for minutes.
EVERY_S: Final = 0.05
MANY, THEN_EVERY_S = 300, 0.5
AGAIN_S: Final = 0.2
PODS_MAX: Final = 600
CONFLICT: Final = 409


class Stream:
    """A context manager; it stops at the end of the block, and raises what ended its thread."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.made: dict[str, datetime] = {}
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pods", daemon=True)

    def __enter__(self) -> Self:
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
        if self._failure is not None and error is None:
            raise self._failure

    def wait_more(self, count: int) -> None:
        """Waits until so many more pods are created."""
        wanted = min(PODS_MAX, len(self.made) + count)
        wait_for(
            lambda: len(self.made) >= wanted or self._failure is not None,
            f"{count} more pods",
            timeout_s=WITHIN_S,
        )

    def _run(self) -> None:
        try:
            while len(self.made) < PODS_MAX and not self._stopped.wait(self._pause_s()):
                self._make(f"stream-{len(self.made)}")
        except BaseException as failure:  # raised in the test's thread
            self._failure = failure

    def _pause_s(self) -> float:
        return EVERY_S if len(self.made) < MANY else THEN_EVERY_S

    def _make(self, name: str) -> None:
        while True:
            try:
                self._stage.pod(name, cpu="5m", memory=None)
            except (OSError, http.client.HTTPException):
                pass
            except ApiError as refused:
                if refused.status == CONFLICT:
                    break
            else:
                break
            if self._stopped.is_set():
                return
            time.sleep(AGAIN_S)
        self.made[name] = datetime.now(UTC)
