"""`kpolicy run` as a process of its own, as an operator starts it.

Owns the process, its output and its health address. Assumes `make dev`. Must not import kpolicy.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.client import wait_for
from tests.cluster.readiness import free_ports

KPOLICY = Path(sys.executable).with_name("kpolicy")
READY_WITHIN_S = 30
STOPS_WITHIN_S = 8


class SchedulerProcess:
    def __init__(
        self, kubeconfig: Path, policy: Path | None, log: Path, flags: Sequence[str] = ()
    ) -> None:
        (port,) = free_ports(1)
        self.address = f"http://127.0.0.1:{port}"
        self._log = log
        self._command = [
            str(KPOLICY), "run", f"--kubeconfig={kubeconfig}",
            *([f"--policy={policy}"] if policy is not None else ()),
            "--bind-address=127.0.0.1", f"--port={port}", *flags,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)
        wait_for(self._ready, f"kpolicy run to be ready; {self.tail()}", timeout_s=READY_WITHIN_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(timeout=STOPS_WITHIN_S)

    def hang_up(self) -> None:
        """SIGHUP: read the policies again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=5) as response:
            return str(response.read().decode())

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(
            float(line.rsplit(" ", 1)[1])
            for line in self.get("/metrics").splitlines()
            if line.startswith((name + "{", name + " ")) and all(label in line for label in wanted)
        )

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])

    def _ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"kpolicy run exited {self._process.returncode}: {self.tail()}")
        try:
            return "ok" in self.get("/readyz")
        except urllib.error.URLError:
            return False
