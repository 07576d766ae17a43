"""Runs one component as a child process: start, signals, log, and no orphan whatever happens.

Every child has its own process group, so that ctrl-C reaches only the test. It ends when its
standard input ends; the kernel closes that however this process dies (`controlplane/lifeline.go`).
The kernel continues a stopped child first, because it is in a newly orphaned process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.errors import ControlPlaneError, PortTakenError

LIFELINE = "CONTROLPLANE_LIFELINE"
STOP_WITHIN_S = 10.0
TAIL_LINES = 12
TAIL_BYTES = 64 * 1024


class Process:
    """A component that can be started, stopped, killed, frozen and started again."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path) -> None:
        self.name = name
        self.command = tuple(str(word) for word in command)
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, and continues its log."""
        if self.alive:
            raise ControlPlaneError(f"{self.name} runs already: stop or kill it first")
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, LIFELINE: "1"},
                process_group=0,
            )

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        return self._running().pid

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone. Nothing happens if it is gone already."""
        if self._child is None:
            return
        if self._child.poll() is None:
            self._child.kill()
        self._reap(timeout_s=10)

    def stop(self, timeout_s: float = 30) -> None:
        """Sends SIGTERM and waits; SIGKILL if it takes longer than `timeout_s`."""
        if self._child is None:
            return
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            self._child.send_signal(signal.SIGCONT)  # a frozen process cannot receive SIGTERM
        try:
            self._reap(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def freeze(self) -> None:
        """SIGSTOP: it keeps its sockets and answers nothing. All its threads have stopped on
        return."""
        child = self._running()
        child.send_signal(signal.SIGSTOP)
        ends_at = time.monotonic() + STOP_WITHIN_S
        while not _stopped(child.pid):
            if time.monotonic() > ends_at or child.poll() is not None:
                raise ControlPlaneError(f"{self.name} did not stop; {self.described_log()}")
            time.sleep(0.001)

    def thaw(self) -> None:
        """SIGCONT."""
        self._running().send_signal(signal.SIGCONT)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self.freeze()
        try:
            yield
        finally:
            if self.alive:
                self.thaw()

    def raise_if_ended(self) -> None:
        """Raises an error with the end of its output, if it died by itself."""
        if self.alive:
            return
        output = self.log_tail()
        failure = PortTakenError if "address already in use" in output else ControlPlaneError
        code = None if self._child is None else self._child.returncode
        raise failure(f"{self.name} ended with exit code {code}; {self.described_log()}")

    def described_log(self) -> str:
        return f"the end of {self.log}:\n{self.log_tail()}"

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        if not self.log.exists():
            return "  | (no log)"
        with self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = log.read().decode(errors="replace")
        return "\n".join(f"  | {line[:400]}" for line in text.splitlines()[-lines:])

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            raise ControlPlaneError(f"{self.name} does not run")
        return self._child

    def _reap(self, timeout_s: float) -> None:
        assert self._child is not None
        self._child.wait(timeout_s)
        if self._child.stdin is not None:
            self._child.stdin.close()


def _stopped(pid: int) -> bool:
    """Whether each of its threads is in the kernel's state T."""
    try:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # a thread that ended meanwhile
        return False
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
