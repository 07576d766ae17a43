"""Measures the memory of a scheduler's process after its first lists, and when its caches are full.
`resident` is that process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

from benches.resident import WAITING
from kpolicy.cli.outputs import progress_bar
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

Told = dict[str, Any]


def measure(nodes: int = NODES, pods: int = PODS) -> Told:
    with progress_bar("listing and deciding"):
        told = ask("live", str(nodes), str(pods))
    return {"nodes": nodes, "pods": pods, "reachMiB": REACH_MIB, **told}


def ask(*words: str) -> Told:
    """Runs `resident` in a new process, and returns the object that it prints."""
    command = [sys.executable, "-m", "benches.resident", *words]
    told: Told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return told


def table(told: Told) -> list[str]:
    rows = [["resident MiB", "when"]]
    rows += [[f"{told[name]:,.0f}", meaning] for name, meaning in _STAGES]
    rows.append([f"{told['reachMiB']:,}", "to stay below"])
    held = told["statistics"]
    lines = columns(rows, right=(0,))
    lines.append(
        f"{held['nodes']:,} nodes, {held['pods']:,} pods of {held['podTemplates']:,} templates, "
        f"{held['cachedBytes'] / 2**20:,.0f} MiB of caches for {held['cachedShapes']:,} shapes"
    )
    return lines
