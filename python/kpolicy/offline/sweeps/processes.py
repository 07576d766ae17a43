"""Works on cells in processes of this machine. A process that is killed is replaced, and its cell
is begun again.
"""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from kpolicy.offline.limits import CELL_TRIES_MAX, JOBS_MAX
from kpolicy.offline.sweeps.outcomes import Outcome, gone, worked


def processors() -> int:
    """As many as this process may use."""
    return min(len(os.sched_getaffinity(0)), JOBS_MAX)


@dataclass(slots=True)
class _Worker:
    """`cell` is the place of the cell that it works on."""

    process: BaseProcess
    pipe: Connection[Any, Any]
    cell: int | None = None


def in_processes(
    work: Callable[[Any], Any],
    cells: Sequence[Any],
    take: Callable[[int, Outcome], None],
    processes: int,
) -> None:
    waiting = deque(range(len(cells)))
    killed: Counter[int] = Counter()
    workers: list[_Worker] = []
    try:
        for _ in range(min(processes, JOBS_MAX)):
            workers.append(_begun(work))  # noqa: PERF401  those that began must be ended
        while True:
            for worker in workers:
                if worker.cell is None and waiting:
                    _give(worker, waiting, cells)
            busy = {worker.pipe: worker for worker in workers if worker.cell is not None}
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                place, outcome = worker.cell, _answer(worker)
                assert place is not None, "it is busy"
                worker.cell = None
                if outcome is not None:
                    take(place, outcome)
                    continue
                killed[place] += 1
                if killed[place] == CELL_TRIES_MAX:
                    raise gone(cells[place], CELL_TRIES_MAX)
                waiting.appendleft(place)
                workers.remove(worker)
                _end(worker)
                workers.append(_begun(work))
    finally:  # also after ctrl-C: no cell is waited for
        for worker in workers:
            _end(worker)


def _give(worker: _Worker, waiting: deque[int], cells: Sequence[Any]) -> None:
    worker.cell = waiting.popleft()
    with suppress(OSError):  # it was killed: its pipe says so
        worker.pipe.send(cells[worker.cell])


def _answer(worker: _Worker) -> Outcome | None:
    """None: the process is gone."""
    try:
        outcome: Outcome = worker.pipe.recv()
    except (EOFError, OSError):
        return None
    return outcome


def _begun(work: Callable[[Any], Any]) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work), daemon=True)
    with _without_ctrl_c():
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _end(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.kill()
    worker.process.join()
    worker.process.close()


def _serve(pipe: Connection[Any, Any], work: Callable[[Any], Any]) -> None:
    """In the process: answers a cell after the other, until the pipe is closed."""
    with suppress(EOFError, OSError):
        while True:
            pipe.send(worked(work, pipe.recv()))


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Processes that are started here never get ctrl-C, of which each would print a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
