"""`run_cells`: the results of a function for many cells, worked out side by side.

The results are those of one process after the other, in the order of the cells, whichever engine
works on them and whichever worker is killed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from kpolicy.offline.sweeps.outcomes import Outcome, result_of, worked

Cell = TypeVar("Cell")
Result = TypeVar("Result")
# How many cells are done, and how many there are.
Progress = Callable[[int, int], None]

PROCESSES: Final = "processes"
RAY: Final = "ray"


def run_cells(
    work: Callable[[Cell], Result],
    cells: Sequence[Cell],
    *,
    jobs: int | None = None,
    engine: str = PROCESSES,
    ray_address: str = "",
    progress: Progress | None = None,
) -> list[Result]:
    """`work` and `cells` must be picklable, and `work` must give the same result for the same cell.
    `work` is sent once to each worker, cells one by one.

    `jobs`: how many cells are worked on at once; None: as many as there are processors. With
    `engine="ray"`, on the cluster at `ray_address`, or on one that is begun on this machine. Raises
    `SweepError`."""
    done = 0
    results: dict[int, Result] = {}

    def take(place: int, outcome: Outcome) -> None:
        nonlocal done
        results[place] = result_of(outcome, cells[place])
        done += 1
        if progress is not None:
            progress(done, len(cells))

    if engine == RAY:
        from kpolicy.offline.sweeps.ray_cluster import on_ray  # noqa: PLC0415

        on_ray(work, cells, take, jobs=jobs, address=ray_address)
    else:
        _in_processes(work, cells, take, jobs)
    return [results[place] for place in range(len(cells))]


def _in_processes(
    work: Callable[[Any], Any],
    cells: Sequence[Any],
    take: Callable[[int, Outcome], None],
    jobs: int | None,
) -> None:
    # One cell, or one job, does not need them.
    from kpolicy.offline.sweeps.processes import in_processes, processors  # noqa: PLC0415

    processes = min(jobs or processors(), len(cells))
    if processes <= 1:
        for place, cell in enumerate(cells):
            take(place, worked(work, cell))
        return
    in_processes(work, cells, take, processes)
