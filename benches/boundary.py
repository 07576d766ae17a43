"""Boundary B3: counts the calls and bytes between Python and Rust, and fails if there are too many.
`placing` runs the scheduler and does the counting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from benches.placing import Placing, Run, each
from kpolicy.cli.input_output import progress_bar
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
        return asyncio.run(Placing(nodes, pods, program).run(progress))


def _name(run: Run) -> str:
    return f"{run.nodes:,} nodes, {run.pods:,} pods"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
