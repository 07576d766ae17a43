"""Measures the memory of a scheduler's process after its first lists, and when its caches are full.
`resident` is that process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

from benches.resident import WAITING
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.reports.columns import columns

NODES: Final = 5_000
PODS: Final = 150_000
REACH_MIB: Final = 600
_STAGES: Final = (
    ("started", "modules loaded, nothing listed"),
    ("listed", "nodes and pods listed"),
    ("decided", f"{WAITING:,} pods of their own requests decided, caches full"),
    ("peak", "at any time"),
)

Figures = dict[str, Any]


def measure(nodes: int = NODES, pods: int = PODS) -> Figures:
    with progress_bar("listing and deciding"):
        figures = ask("live", str(nodes), str(pods))
    return {"nodes": nodes, "pods": pods, "reachMiB": REACH_MIB, **figures}


def ask(*words: str) -> Figures:
    """Runs `resident` in a new process, and returns the object that it prints."""
    command = [sys.executable, "-m", "benches.resident", *words]
    figures: Figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return figures


def table(figures: Figures) -> list[str]:
    rows = [["resident MiB", "when"]]
    rows += [[f"{figures[name]:,.0f}", meaning] for name, meaning in _STAGES]
    rows.append([f"{figures['reachMiB']:,}", "to stay below"])
    held = figures["statistics"]
    lines = columns(rows, right=(0,))
    lines.append(
        f"{held['nodes']:,} nodes, {held['pods']:,} pods of {held['podTemplates']:,} templates, "
        f"{held['cachedBytes'] / 2**20:,.0f} MiB of caches for {held['cachedShapes']:,} shapes"
    )
    return lines
