"""A progress bar on standard error, when it is a terminal and the work takes over a second.

Owns the delay and the drawing. Must not know what progresses.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

_DELAY_S: Final = 1.0


class _Bar:
    """Starts late: work that is quick shows nothing."""

    def __init__(self, title: str, clock: Callable[[], float]) -> None:
        self._title = title
        self._clock = clock
        self._began = clock()
        self._shown: Any = None  # rich's Progress, and its one task
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._shown is None:
            if self._clock() - self._began < _DELAY_S:
                return
            self._show(total)
        self._shown.update(self._task, completed=done, total=total)

    def _show(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._shown = Progress(console=Console(stderr=True), transient=True)
        self._task = self._shown.add_task(self._title, total=total)
        self._shown.start()

    def stop(self) -> None:
        if self._shown is not None:
            self._shown.stop()


@contextmanager
def progress_bar(
    title: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int, int], None] | None]:
    """Call what it gives with how much is done, of how much; `None` where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(title, clock)
    try:
        yield bar
    finally:
        bar.stop()
