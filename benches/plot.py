"""Measures the cost of a decision from 1,000 to 1,000,000 nodes, and draws it.

The data file has the figures, the machine and the commit. The drawing reads only this file, so that
the same data give the same picture, byte for byte. `chart` turns lines into SVG.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benches import matrix
from benches.chart import Chart, Line
from benches.matrix import Case
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench.measure import measure as measure_one
from kpolicy.offline.bench.workloads import REPEATED

_ROOT: Final = Path(__file__).parent.parent
_FOLDER: Final = _ROOT / "docs" / "internals"
DATA: Final = _FOLDER / "cost-by-nodes.json"
PICTURE: Final = _FOLDER / "cost-by-nodes.svg"
# Processor time, the minimum of several runs, because other work on the machine only adds. Huge
# clusters are generated once: that takes longer than all their decisions.
RUNS: Final = 2
_CPU: Final = Path("/proc/cpuinfo")

Figures = dict[str, Any]


def measure(runs: int = RUNS, cases: Sequence[Case] | None = None) -> Figures:
    microseconds: dict[str, dict[str, float]] = defaultdict(dict)
    if cases is None:
        cases = [case for case in matrix.cases() if case.workload in REPEATED]
    with progress_bar("measuring every workload at every size") as progress:
        for done, case in enumerate(cases):
            turns = range(1 if case.is_huge else runs)
            least = min(measure_one(case.workload, case.size).cpu_seconds for _ in turns)
            cost = round(least * 1e6 / case.size.pods, 3)
            microseconds[case.workload][str(case.size.nodes)] = cost
            if progress is not None:
                progress(done + 1, len(cases))
    return {**where(), "runs": runs, "microsecondsPerDecision": dict(microseconds)}


def where() -> Figures:
    """The commit and the machine of figures."""
    return {"commit": _commit(), "machine": _machine()}


def save(figures: Figures, path: Path = DATA) -> None:
    path.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


def saved(path: Path = DATA) -> Figures:
    figures: Figures = json.loads(path.read_text("utf-8"))
    return figures


def draw(picture: str, path: Path = PICTURE) -> list[str]:
    path.write_text(picture, "utf-8")
    return [os.path.relpath(path)]


def picture(figures: Figures) -> str:
    lines = tuple(
        Line(name, tuple((int(nodes), cost) for nodes, cost in points.items()))
        for name, points in sorted(figures["microsecondsPerDecision"].items())
    )
    return Chart(
        title="Cost of one decision by the size of the cluster",
        about=f"{figures['machine']}; commit {figures['commit']}; all nodes scored; "
        f"processor time, least of {figures['runs']} runs",
        x_label="nodes",
        y_label="microseconds a decision",
        lines=lines,
    ).svg()


def _commit() -> str:
    def git(*words: str) -> str:
        answer = subprocess.run(
            ["git", *words], cwd=_ROOT, check=False, capture_output=True, text=True
        )
        return answer.stdout.strip()

    changed = "-dirty" if git("status", "--porcelain", "--untracked-files=no") else ""
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + changed


def _machine() -> str:
    model = platform.machine()
    if _CPU.exists():
        for line in _CPU.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {os.cpu_count()} cores"
