"""The same work in two processes at the same time.

They share nothing but the machine: its processors, their caches and its memory. So no number of
threads can make one such work faster than these two processes do theirs together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar

PROCESSES: Final = 2

T = TypeVar("T")


def at_once(prepare: Callable[[], Callable[[], T]], times: int = 1) -> list[list[T]]:
    """What the work came to, by time and process. Each process prepares its own (`prepare` is
    pickled for them and gives what does the work), and then all begin; and so on, so that only
    the first time has to get memory from the system."""
    context = get_context("spawn")
    pipes = [context.Pipe() for _ in range(PROCESSES)]
    with ExitStack() as ended:
        for here, there in pipes:
            process = context.Process(target=_work, args=(prepare, times, there), daemon=True)
            process.start()
            there.close()  # a process that ends early ends the wait for it
            ended.callback(process.join)
            ended.enter_context(here)
        ours = [here for here, _ in pipes]
        return [_once(ours) for _ in range(times)]


def _once(pipes: Sequence[Connection]) -> list[Any]:
    # First all prepare, then all do the work.
    for _ in range(2):
        for pipe in pipes:
            pipe.send(None)
        answers = [pipe.recv() for pipe in pipes]
    return answers


def _work(prepare: Callable[[], Callable[[], T]], times: int, pipe: Connection) -> None:
    for _ in range(times):
        pipe.recv()
        work = prepare()
        pipe.send(None)
        pipe.recv()
        pipe.send(work())
