"""The same work in two processes at the same time.

They share nothing but the machine: its processors, their caches and its memory. So no number of
threads can make one such work faster than these two processes do theirs together.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final, TypeVar

PROCESSES: Final = 2

T = TypeVar("T")


def at_once(prepare: Callable[[], Callable[[], T]]) -> list[T]:
    """What the work came to in each process. Each prepares its own (`prepare` is pickled for them
    and gives what does the work), and then all begin."""
    context = get_context("spawn")
    pipes = [context.Pipe() for _ in range(PROCESSES)]
    with ExitStack() as ended:
        for here, there in pipes:
            process = context.Process(target=_work, args=(prepare, there), daemon=True)
            process.start()
            there.close()  # a process that ends early ends the wait for it
            ended.callback(process.join)
            ended.enter_context(here)
        for here, _ in pipes:
            here.recv()
        for here, _ in pipes:
            here.send(None)
        return [here.recv() for here, _ in pipes]


def _work(prepare: Callable[[], Callable[[], T]], pipe: Connection) -> None:
    work = prepare()
    pipe.send(None)
    pipe.recv()
    pipe.send(work())
