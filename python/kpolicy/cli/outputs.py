"""Where output goes: standard output, files, and a progress bar on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, BinaryIO, Final

from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STDOUT: Final = "-"
_BAR_DELAY_S: Final = 1.0


def is_color() -> bool:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_plain


@contextmanager
def write_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be written: {error.strerror or error}") from error


def write(text: str, file: str) -> None:
    """Writes to `file`, or to standard output if it is empty."""
    if file:
        write_back(Path(file), text.encode())
        return
    sys.stdout.write(text)
    sys.stdout.flush()  # so that it comes before what standard error gets


def write_back(path: Path, text: bytes) -> None:
    with write_errors(path):
        path.write_bytes(text)


def difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff; empty if the texts are equal."""
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), old_name, new_name
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def refuse_terminal(destination: str) -> None:
    if destination == STDOUT and sys.stdout.isatty():
        raise CannotWorkError("a snapshot is not for a terminal; `-o FILE`, or a pipe")


@contextmanager
def written(destination: str) -> Iterator[tuple[BinaryIO, Path | None]]:
    """The stream of a snapshot, and the folder of its file, for large temporary files."""
    from kpolicy.offline.snapshot_file.writer import replacing

    with write_errors(destination):
        if destination == STDOUT:
            yield sys.stdout.buffer, None
            sys.stdout.buffer.flush()
            return
        path = Path(destination)
        with replacing(path) as stream:
            yield stream, path.absolute().parent


class _Bar:
    """Appears after a delay, so that quick work shows no bar. Has no end until a total is known."""

    def __init__(self, title: str, delay_s: float) -> None:
        self._title = title
        self._lock = Lock()
        self._shown: tuple[Progress, TaskID] | None = None
        self._is_over = False
        self._timer = Timer(delay_s, self._show)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, done: int, total: int) -> None:
        with self._lock:
            if self._shown is not None:
                bar, task = self._shown
                bar.update(task, completed=done, total=total)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self._lock:
            if self._is_over:
                return
            bar = Progress(console=Console(stderr=True), transient=True)
            self._shown = bar, bar.add_task(self._title, total=None)
            bar.start()

    def stop(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown[0].stop()


@contextmanager
def progress_bar(
    title: str, delay_s: float = _BAR_DELAY_S
) -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function that takes how much is done and how much there is, or None if standard error
    is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(title, delay_s)
    try:
        yield bar
    finally:
        bar.stop()
