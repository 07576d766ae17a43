"""Creates pods at a steady rate from its own thread, and records when each was created."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Final, Self

from benches.cluster.policy_map import PROFILE
from tests.cluster.connection import ApiError
from tests.cluster.control_plane import ControlPlane

PODS_PER_SECOND: Final = 20


class PodStream:
    """A context manager: pods come while it is open. `asked_ns`: of the system's clock, by name,
    right before each was created."""

    def __init__(self, plane: ControlPlane, namespace: str, prefix: str) -> None:
        self._admin, self._namespace, self._prefix = plane.admin, namespace, prefix
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pods", daemon=True)
        self.asked_ns: dict[str, int] = {}

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

    def since(self, moment_ns: int) -> set[str]:
        """Names of the pods that were created after this time."""
        return {name for name, asked_ns in self.asked_ns.copy().items() if asked_ns > moment_ns}

    def _run(self) -> None:
        began = time.monotonic()
        count = 0
        while not self._stopped.wait(max(0.0, began + count / PODS_PER_SECOND - time.monotonic())):
            name = f"{self._prefix}-{count}"
            self.asked_ns[name] = time.time_ns()
            try:
                self._admin.create_pod(
                    name, namespace=self._namespace, scheduler_name=PROFILE, cpu="1m", memory="1Mi"
                )
            except (ApiError, OSError):  # on a busy machine: do not wait for this pod
                del self.asked_ns[name]
            count += 1
