"""The results that the authors of the paper published with their simulator, for comparison.

They stand in a folder `fgd-expected-results` beside the trace: a line for each policy and seed,
with a column for each percent of arrived demand.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

FOLDER: Final = "fgd-expected-results"
_ALLOCATED: Final = "analysis_allo_discrete.csv"
_FRAGMENTS: Final = "analysis_frag_discrete.csv"
# Their names of the policies, without the number in front.
THEIRS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "random": "Random",
        "dot-product": "DotProd",
        "clustering": "GpuClustering",
        "packing": "GpuPacking",
        "gpus-best-fit": "BestFit",
        "gpus-least-fragmentation": "FGD",
    }
)


def allocated(trace: Path, variant: str, policy: str, percent: int) -> float | None:
    """The mean over their seeds; None where they have none."""
    return _mean(trace / FOLDER / _ALLOCATED, variant, policy, percent)


def fragments(trace: Path, variant: str, policy: str, percent: int) -> float | None:
    return _mean(trace / FOLDER / _FRAGMENTS, variant, policy, percent)


def _mean(path: Path, variant: str, policy: str, percent: int) -> float | None:
    if not path.is_file() or policy not in THEIRS:
        return None
    with path.open(encoding="utf-8", newline="") as file:
        values = [
            float(row[str(percent)])
            for row in csv.DictReader(file)
            if row["workload"] == f"openb_pod_list_{variant}"
            and row["sc_policy"].partition("-")[2] == THEIRS[policy]
        ]
    return statistics.fmean(values) if values else None
