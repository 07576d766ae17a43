"""Where a written snapshot goes: a file, or standard output as `-`.

Owns the flag and what is said when it cannot be written. Must not know what is written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, BinaryIO, Final

from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STDOUT: Final = "-"


def add_destination_flag(
    parser: argparse.ArgumentParser, more: str, *, required: bool = False
) -> None:
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        required=required,
        help=f"where to, - for standard output; readable by its owner alone ({more})",
    )


def refuse_terminal(destination: str) -> None:
    if destination == STDOUT and sys.stdout.isatty():
        raise CannotWorkError("a snapshot is not for a terminal; `-o FILE`, or a pipe")


@contextmanager
def written(destination: str) -> Iterator[tuple[BinaryIO, Path | None]]:
    """The stream, and the folder for what is kept on the way, which may be large: the file's."""
    from kpolicy.offline.snapshot_file.writer import replacing

    try:
        if destination == STDOUT:
            yield sys.stdout.buffer, None
            sys.stdout.buffer.flush()
            return
        path = Path(destination)
        with replacing(path) as stream:
            yield stream, path.absolute().parent
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWorkError(
            f"{destination} cannot be written: {error.strerror or error}"
        ) from error


_DELAY_S: Final = 1.0


class _Bar:
    """Starts late: work that is quick shows nothing. Until it is told how much there is, it
    only moves."""

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
    title: str, delay_s: float = _DELAY_S
) -> Iterator[Callable[[int, int], None] | None]:
    """Call what it gives with how much is done, of how much; `None` where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(title, delay_s)
    try:
        yield bar
    finally:
        bar.stop()


def is_color() -> bool:
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and (os.environ.get("TERM") != "dumb")
    )


def write(text: str, file: str) -> None:
    if not file:
        sys.stdout.write(text)
        sys.stdout.flush()  # before what is said on stderr
        return
    try:
        Path(file).write_text(text, "utf-8")
    except OSError as error:
        raise CannotWorkError(f"{file} cannot be written: {error.strerror}") from error
