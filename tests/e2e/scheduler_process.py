"""`kpolicy run` as a process, as an operator starts it: its signals, its output and its health
address, with TLS if wanted. Needs `make dev`, and must not import kpolicy.
"""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self
from weakref import WeakSet

from tests.cluster.client import wait_for
from tests.cluster.readiness import free_ports
from tests.unit.cluster import certificates

KPOLICY = Path(sys.executable).with_name("kpolicy")
READY_WITHIN_S = 90
STOPS_WITHIN_S = 8
READ_WITHIN_S = 20
STACKS_WITHIN_S = 1.0


class SchedulerProcess:
    """A context manager: ready when entered, gone when exited. `start` it again after its end.
    `tls`: a folder for a certificate; what is served is served over TLS then."""

    started: ClassVar[WeakSet[SchedulerProcess]] = WeakSet()

    def __init__(
        self,
        kubeconfig: Path,
        policy: Path | None,
        log: Path,
        flags: Sequence[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
        tls: Path | None = None,
        output: int | None = None,
    ) -> None:
        """`output`: a file descriptor that gets what the log would get."""
        (port,) = free_ports(1)
        self.address = f"http://127.0.0.1:{port}"
        self.policy = policy
        self.elects = "--no-leader-elect" not in flags
        self.trusted: ssl.SSLContext | None = None
        if tls is not None:
            (tls / "tls.crt").write_bytes(certificates.SERVER)
            (tls / "tls.key").write_bytes(certificates.SERVER_KEY)
            files = (f"--tls-cert-file={tls}/tls.crt", f"--tls-private-key-file={tls}/tls.key")
            flags = (*flags, *files)
            self.address = self.address.replace("http:", "https:")
            self.trusted = ssl.create_default_context(cadata=certificates.AUTHORITY.decode())
        self._log = log
        self._output = output
        self.has_log = output is None
        self._environment = {**os.environ, **(environment or {})}
        self._command = [
            str(KPOLICY),
            "run",
            f"--kubeconfig={kubeconfig}",
            *([f"--policy={policy}"] if policy is not None else ()),
            "--bind-address=127.0.0.1",
            f"--port={port}",
            *flags,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Starts without waiting; continues its log."""
        assert not self.alive
        with self._log.open("ab") as log:
            output = log if self._output is None else self._output
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=subprocess.STDOUT, env=self._environment
            )
        self.started.add(self)

    def wait_ready(self) -> None:
        wait_for(self._ready, f"kpolicy run to be ready; {self.tail()}", timeout_s=READY_WITHIN_S)

    # Signals -------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._running().pid

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone. Nothing happens if it is gone already."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        self._running().send_signal(signal.SIGTERM)
        return self.ended(STOPS_WITHIN_S)

    def ended(self, within_s: float) -> int:
        """Waits until it ends by itself; returns the exit code."""
        assert self._process is not None
        return self._process.wait(timeout=within_s)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """SIGSTOP, and SIGCONT at the end: all its threads stop, its sockets stay open."""
        child = self._running()
        child.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: _state(child.pid) == "T", "kpolicy to stand still", timeout_s=5)
            yield
        finally:
            child.send_signal(signal.SIGCONT)

    # What it shows -------------------------------------------------------------------------

    def hang_up(self) -> None:
        """SIGHUP: makes it read its policies again."""
        self._running().send_signal(signal.SIGHUP)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(
            self.address + path, timeout=READ_WITHIN_S, context=self.trusted
        ) as response:
            return str(response.read().decode())

    def status(self, path: str, token: str = "") -> tuple[int, str]:
        """The answer whatever its status."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.address + path, headers=headers)
        try:
            with urllib.request.urlopen(
                request, timeout=READ_WITHIN_S, context=self.trusted
            ) as response:
                return int(response.status), str(response.read().decode())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        return sum(value for found, value in self.samples(name) if labels.items() <= found.items())

    def counts(self, name: str, *by: str) -> Counter[tuple[str, ...]]:
        """A metric's values by the values of these labels."""
        counted: Counter[tuple[str, ...]] = Counter()
        for found, value in self.samples(name):
            counted[tuple(found.get(label, "") for label in by)] += int(value)
        return counted

    def samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        found = []
        for line in self.get("/metrics").splitlines():
            if line.startswith((name + "{", name + " ")):
                head, _, value = line.rpartition(" ")
                inside = head.removeprefix(name).strip("{}")
                pairs = (part.partition("=") for part in inside.split(",") if part)
                found.append(({key: text.strip('"') for key, _, text in pairs}, float(value)))
        return found

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def tail(self) -> str:
        return "\n".join(self.log().splitlines()[-20:]) if self._log.exists() else ""

    def seen_after_failure(self) -> str:
        """Where each of its threads is, and the end of its log before that."""
        before = self.tail()
        length = len(self.log()) if self._log.exists() else 0
        if not self.alive or not self.has_log:
            return before
        self._running().send_signal(signal.SIGCONT)
        self._running().send_signal(signal.SIGUSR1)
        time.sleep(STACKS_WITHIN_S)
        return f"{before}\n{self.log()[length:]}"

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it was not started"
        assert self._process.poll() is None, f"the process ended: {self.tail()}"
        return self._process

    def _ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"kpolicy run exited {self._process.returncode}: {self.tail()}")
        try:
            return "ok" in self.get("/readyz")
        except urllib.error.URLError:
            return False


def seconds_since(began: float) -> float:
    """Of `time.monotonic()`."""
    return time.monotonic() - began


def _state(pid: int) -> str:
    """From /proc: R, S, T for stopped …; every thread stands when the group is stopped."""
    states = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        states.add((task / "stat").read_text().rpartition(")")[2].split()[0])
    return states.pop() if len(states) == 1 else ""
