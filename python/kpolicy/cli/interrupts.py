"""Ctrl-C while a verb runs: KeyboardInterrupt, or the end of the process where that is of no use.

Python raises KeyboardInterrupt wherever it is. While a module is loaded, that may be a callback of
the import system, which prints a traceback and goes on, or pydantic, which makes another error of
it. There is nothing to put in order there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, Final, TypeVar

INTERRUPTED: Final = 130
# An error that follows may be what other code made of KeyboardInterrupt.
PRESSED: Final = threading.Event()
_LOADING: Final = "<frozen importlib"
Result = TypeVar("Result")


def end_now(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    os._exit(INTERRUPTED)


def interrupt(_number: int, frame: FrameType | None) -> None:
    """The handler of SIGINT while a verb runs."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_LOADING):
            end_now()
        frame = frame.f_back
    PRESSED.set()
    raise KeyboardInterrupt


def end_if_lost(unraisable: sys.UnraisableHookArgs) -> None:
    """A hook for what is raised where nobody can catch it, as in a destructor."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        end_now()
    sys.__unraisablehook__(unraisable)


def run_async(main: Coroutine[Any, Any, Result]) -> Result:
    """asyncio cancels the task at ctrl-C, but only where the handler of SIGINT is Python's own."""
    import asyncio  # short commands load no event loop

    is_ours = signal.getsignal(signal.SIGINT) is interrupt
    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(main)
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, interrupt)
