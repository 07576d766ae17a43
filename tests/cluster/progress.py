"""Runs a long command and prints every few seconds how far it is.

The command prints one line for each step. An exception (ctrl-C too) ends its whole process group.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPORT_EVERY_S = 10.0
KEPT_LINES = 200

Report = Callable[[str], None]


def to_stderr(name: str) -> Report:
    """Prints lines on standard error, each with the name of what is built."""
    return lambda line: print(f"{name}: {line}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit code, standard output, the last lines it said on standard error."""

    code: int
    output: str
    errors: tuple[str, ...]
    elapsed_s: float

    def last_errors(self, lines: int = 8) -> str:
        return "\n".join(f"  | {line}" for line in self.errors[-lines:])


def run_reporting(
    command: Sequence[str | Path],
    describe: Callable[[int], str],
    report: Report,
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the command; `describe(lines so far on stderr)` becomes the progress line."""
    words = [str(word) for word in command]
    if nice := shutil.which("nice"):
        words = [nice, "-n", "5", *words]
    began = time.monotonic()
    kept: deque[str] = deque(maxlen=KEPT_LINES)
    output: list[str] = []
    seen = 0
    with subprocess.Popen(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        errors, stdout = child.stderr, child.stdout

        def read_errors() -> None:
            nonlocal seen
            for line in errors:
                seen += 1
                kept.append(line.rstrip())

        readers = (
            threading.Thread(target=read_errors, daemon=True),
            threading.Thread(target=lambda: output.append(stdout.read()), daemon=True),
        )
        for reader in readers:
            reader.start()
        try:
            while True:
                try:
                    child.wait(REPORT_EVERY_S)
                    break
                except subprocess.TimeoutExpired:
                    report(f"{time.monotonic() - began:4.0f} s  {describe(seen)}")
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        for reader in readers:
            reader.join()
    return Outcome(child.returncode, "".join(output), tuple(kept), time.monotonic() - began)
