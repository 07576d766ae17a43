"""Boundary B3: counts the calls and bytes between Python and Rust, and fails if there are too many.
`placing` runs the scheduler, and `crossings` counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benches.crossings import CountingEngine
from benches.placing import Placing
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.policy.assembly.assemble import Program

NODES: Final = 5_000
PODS: Final = 10_000
# All pods must fit, also on a fifth of the nodes, or the run would wait for them.
PODS_A_NODE_MAX: Final = 20
# Calls for empty lists, and other calls that happen once.
CALLS_ONCE_MAX: Final = 4
# Beside pages and chunks: a batch of 256 pods is decided in one call and its binds end in a few.
CALLS_A_POD_MAX: Final = 0.1
# More nodes may make batches smaller, as a batch must not take too long; not more than this.
GROWTH_WITH_NODES_MAX: Final = 2.0


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one run. Times are processor time a pod."""

    nodes: int
    pods: int
    resources: int
    pages: int
    chunks: int
    calls: dict[str, int]
    bytes_in: dict[str, int]
    bytes_out: dict[str, int]
    python_us_a_pod: float
    engine_us_a_pod: float

    @property
    def calls_for_pods(self) -> int:
        """Calls other than those for pages and chunks."""
        return self.calls.get("schedule", 0) + self.calls.get("settle", 0)

    def line(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes,
            "pods": self.pods,
            "pages": self.pages,
            "chunks": self.chunks,
            "calls": self.calls,
            "crossings": sum(self.calls.values()),
            "crossingsPerPod": round(sum(self.calls.values()) / self.pods, 4),
            "bytesInPerCall": each(self.bytes_in, self.calls),
            "bytesOutPerCall": each(self.bytes_out, self.calls),
            "pythonUsPerPod": round(self.python_us_a_pod, 1),
            "engineUsPerPod": round(self.engine_us_a_pod, 1),
        }


def measure(nodes: int = NODES, pods: int = PODS, program: Program | None = None) -> list[Run]:
    """Measures the requested size, a fifth of the nodes, and a fifth of the pods."""
    sizes = [(nodes, pods), (max(1, nodes // 5), pods), (nodes, max(1, pods // 5))]
    return [measure_one(*size, program or default_program()) for size in sizes]


def failures(runs: Sequence[Run]) -> list[str]:
    """Violations of boundary B3; empty if there are none."""
    failures = []
    for run in runs:
        crossings = sum(run.calls.values())
        if crossings > allowed(run):
            failures.append(f"{_name(run)}: {crossings:,} crossings, {allowed(run):,} are allowed")
        if run.calls_for_pods > max(CALLS_ONCE_MAX, CALLS_A_POD_MAX * run.pods):
            failures.append(f"{_name(run)}: {run.calls_for_pods:,} calls to decide and settle")
    if len(runs) > 1:
        most = GROWTH_WITH_NODES_MAX * runs[1].calls_for_pods + CALLS_ONCE_MAX
        if runs[0].calls_for_pods > most:
            failures.append(
                f"{runs[0].calls_for_pods:,} calls to decide and settle with {runs[0].nodes:,} "
                f"nodes, {runs[1].calls_for_pods:,} with {runs[1].nodes:,}"
            )
    return failures


def allowed(run: Run) -> int:
    """The allowed number of calls: it depends on batches and chunks, never on pods and nodes."""
    return run.pages + run.chunks + run.calls_for_pods + CALLS_ONCE_MAX * run.resources


def table(runs: Sequence[Run]) -> list[str]:
    rows = [["nodes", "pods", "call", "calls", "a pod", "bytes in", "bytes out"]]
    for run in runs:
        each_in, each_out = each(run.bytes_in, run.calls), each(run.bytes_out, run.calls)
        for name, calls in sorted(run.calls.items()):
            a_pod = f"{calls / run.pods:.4f}"
            cells = (calls, a_pod, each_in[name], each_out[name])
            rows.append([f"{run.nodes:,}", f"{run.pods:,}", name, *map(_cell, cells)])
        total = sum(run.calls.values())
        rows.append(
            [
                f"{run.nodes:,}",
                f"{run.pods:,}",
                "all",
                _cell(total),
                f"{total / run.pods:.4f}",
                "",
                "",
            ]
        )
    lines = columns(rows, right=(0, 1, 3, 4, 5, 6))
    for run in runs:
        lines.append(
            f"{_name(run)}: {run.python_us_a_pod:.1f} µs of Python a pod, "
            f"{run.engine_us_a_pod:.1f} µs in the engine"
        )
    return lines


def measure_one(nodes: int, pods: int, program: Program) -> Run:
    with progress_bar(f"{nodes:,} nodes, {pods:,} pods") as progress:
        engine = CountingEngine(seed=1)
        placed = asyncio.run(Placing(engine, Size(nodes, 0, pods), program).run(progress))
    python_ns = placed.processor_ns - engine.engine_ns - engine.counting_ns
    return Run(
        nodes,
        pods,
        placed.resources,
        pages=placed.pages,
        chunks=placed.chunks,
        calls=dict(engine.calls),
        bytes_in=dict(engine.bytes_in),
        bytes_out=dict(engine.bytes_out),
        python_us_a_pod=python_ns / 1000 / pods,
        engine_us_a_pod=engine.engine_ns / 1000 / pods,
    )


def _name(run: Run) -> str:
    return f"{run.nodes:,} nodes, {run.pods:,} pods"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def each(totals: dict[str, int], calls: dict[str, int]) -> dict[str, int]:
    """The average of one call."""
    return {name: totals[name] // count for name, count in calls.items()}
