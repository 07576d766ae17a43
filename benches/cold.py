"""The cost of a decision where every pod differs from every other, at two sizes of the cluster.

A loop of integers is timed in the same run, so that figures of different machines can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.bench.measure import measure as measure_one
from kpolicy.offline.bench.workloads import UNIQUE
from kpolicy.offline.reports.columns import columns

NODES: Final = (5_000, 50_000)
# Many, so that what only the first decisions of a process pay is a small part.
PODS: Final = 1_000
# Other work on the machine only adds; the least of several runs counts.
RUNS: Final = 3
# All pods of this workload are equal: what a decision costs that is not cold.
EQUAL: Final = "basic"
_LOOP_STEPS: Final = 1_000_000
_LOOP_BITS: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of processor time a decision, by number of nodes."""

    workload: str
    by_nodes: dict[int, float]

    @property
    def growth(self) -> float:
        """The cost at the largest size by that at the smallest."""
        return self.by_nodes[max(self.by_nodes)] / self.by_nodes[min(self.by_nodes)]

    def line(self) -> dict[str, Any]:
        by_nodes = {str(nodes): round(cost, 1) for nodes, cost in self.by_nodes.items()}
        return {"workload": self.workload, "cpuUsPerDecision": by_nodes}


@dataclass(frozen=True, slots=True)
class Costs:
    each: tuple[Cost, ...]
    # Of the loop that is the same on every machine.
    loop_ms: float

    def line(self) -> dict[str, Any]:
        return {"loopMs": round(self.loop_ms, 1), "costs": [cost.line() for cost in self.each]}


def measure(
    workloads: Sequence[str] = (),
    nodes: Sequence[int] = NODES,
    pods: int = PODS,
    runs: int = RUNS,
) -> Costs:
    costs = []
    names = workloads or (EQUAL, *UNIQUE)
    with progress_bar("deciding") as progress:
        for done, workload in enumerate(names):
            costs.append(
                Cost(workload, {size: _cost(workload, size, pods, runs) for size in nodes})
            )
            if progress is not None:
                progress(done + 1, len(names))
    return Costs(tuple(costs), min(loop_ms() for _ in range(runs)))


def _cost(workload: str, nodes: int, pods: int, runs: int) -> float:
    size = Size(nodes, nodes, pods)
    least = min(measure_one(workload, size).cpu_seconds for _ in range(runs))
    return least * 1e6 / pods


def loop_ms() -> float:
    """The processor time of a fixed loop of Python."""
    began_ns = time.thread_time_ns()
    value = 1
    for _ in range(_LOOP_STEPS):
        value = (value * 1_103_515_245 + 12_345) & _LOOP_BITS
    return (time.thread_time_ns() - began_ns) / 1e6


def table(costs: Costs) -> list[str]:
    sizes = list(costs.each[0].by_nodes)
    heading = ["CPU µs a decision", *(f"{nodes:,} nodes" for nodes in sizes), "growth"]
    rows = [
        [
            cost.workload,
            *(f"{cost.by_nodes[nodes]:,.1f}" for nodes in sizes),
            f"{cost.growth:.1f}",
        ]
        for cost in costs.each
    ]
    calibration = f"calibration: {_LOOP_STEPS:,} steps of a loop in Python, {costs.loop_ms:.1f} ms"
    return [*columns([heading, *rows], right=range(1, len(heading))), calibration]
