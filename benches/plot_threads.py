"""Measures what a decision takes with one thread of the engine and with two, and draws it beside
the cost by nodes.

As with that picture, the data file has the figures, and the drawing reads only this file.
"""

from __future__ import annotations

from typing import Final

from benches import plot
from benches.chart import Chart, Line
from benches.plot import Figures
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.bench.measure import measure as measure_one

DATA: Final = plot.DATA.with_name("cost-by-threads.json")
PICTURE: Final = plot.PICTURE.with_name("cost-by-threads.svg")
WORKLOADS: Final = ("basic", "mixed", "unique-everything")
THREADS: Final = (1, 2)
SIZES: Final = tuple(Size(nodes, nodes, 1_000) for nodes in (5_000, 20_000, 100_000))
RUNS: Final = 3


def measure(
    workloads: tuple[str, ...] = WORKLOADS, sizes: tuple[Size, ...] = SIZES, runs: int = RUNS
) -> Figures:
    """On the clock, the least of several runs that alternate between the numbers of threads."""
    microseconds: dict[str, dict[str, dict[str, float]]] = {
        workload: {str(threads): {} for threads in THREADS} for workload in workloads
    }
    cases = [(workload, size) for workload in workloads for size in sizes]
    with progress_bar("measuring one thread and two") as progress:
        for done, (workload, size) in enumerate(cases, 1):
            least = dict.fromkeys(THREADS, float("inf"))
            for _ in range(runs):
                for threads in THREADS:
                    seconds = measure_one(workload, size, threads=threads).seconds
                    least[threads] = min(least[threads], seconds)
            for threads, seconds in least.items():
                cost = round(seconds * 1e6 / size.pods, 3)
                microseconds[workload][str(threads)][str(size.nodes)] = cost
            if progress is not None:
                progress(done, len(cases))
    return {**plot.where(), "runs": runs, "microsecondsPerDecision": microseconds}


def picture(figures: Figures) -> str:
    lines = tuple(
        Line(
            f"{workload}, {threads}",
            tuple((int(nodes), cost) for nodes, cost in points.items()),
        )
        for workload, by_threads in sorted(figures["microsecondsPerDecision"].items())
        for threads, points in sorted(by_threads.items())
    )
    return Chart(
        title="Time of one decision with one thread and with two",
        about=f"{figures['machine']}; commit {figures['commit']}; all nodes scored; "
        f"on the clock, least of {figures['runs']} runs",
        x_label="nodes",
        y_label="microseconds a decision",
        lines=lines,
    ).svg()
