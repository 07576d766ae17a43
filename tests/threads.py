"""Threads that began after a moment and have not ended."""

from __future__ import annotations

import threading
import time


def alive() -> frozenset[threading.Thread]:
    return frozenset(threading.enumerate())


def left_since(before: frozenset[threading.Thread], wait_s: float) -> list[str]:
    """The names of those that do not end in `wait_s` either."""
    ends = time.monotonic() + wait_s
    began = alive() - before
    for thread in began:
        thread.join(max(0.0, ends - time.monotonic()))
    return sorted(thread.name for thread in began if thread.is_alive())
