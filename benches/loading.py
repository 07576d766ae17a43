"""Measures how long it takes from a file in the form of `kubectl get nodes,pods -A -o json` to an
engine.

Each run is a new process. The file was just written, so it is most likely still in the kernel's
memory.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from benches import recorded
from benches.footprint import ask
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.reports.columns import columns

NODES: Final = 5_000
PODS: Final = 150_000
RUNS: Final = 3
REACH_S: Final = 3.0

Figures = dict[str, Any]


def measure(nodes: int = NODES, pods: int = PODS) -> Figures:
    with tempfile.TemporaryDirectory(prefix="kpolicy-bench-") as folder:
        path = Path(folder) / "snapshot.json"
        with progress_bar("writing the snapshot"), path.open("w", encoding="utf-8") as file:
            file.writelines(recorded.kubectl_list(generated_cluster.Size(nodes, pods, 0)))
        size_bytes = path.stat().st_size
        with progress_bar("reading it") as progress:
            runs: list[Figures] = []
            while len(runs) < RUNS:
                runs.append(ask("offline", str(path)))
                if progress is not None:
                    progress(len(runs), RUNS)
    for run in runs:
        assert (run["nodes"], run["pods"]) == (nodes, pods), run
    return {
        "nodes": nodes,
        "pods": pods,
        "bytes": size_bytes,
        "reachSeconds": REACH_S,
        "runs": runs,
    }


def table(figures: Figures) -> list[str]:
    rows = [["run", "seconds", "CPU seconds", "MB/s", "resident MiB", "peak MiB"]]
    for number, run in enumerate(figures["runs"], 1):
        speed = figures["bytes"] / 1e6 / run["seconds"]
        times = (f"{run['seconds']:.2f}", f"{run['cpuSeconds']:.2f}", f"{speed:,.0f}")
        rows.append([str(number), *times, f"{run['resident']:,.0f}", f"{run['peak']:,.0f}"])
    lines = columns(rows, right=range(6))
    lines.append(
        f"{figures['nodes']:,} nodes and {figures['pods']:,} pods in "
        f"{figures['bytes'] / 1e6:,.0f} MB; "
        f"to reach: {figures['reachSeconds']:.0f} s"
    )
    return lines
