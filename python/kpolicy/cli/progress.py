"""A progress bar on standard error, when it is a terminal and the work takes over a second.

Owns the delay and the drawing. Must not know what progresses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
