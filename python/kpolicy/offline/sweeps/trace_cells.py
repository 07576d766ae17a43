"""Cells of `kpolicy sweep --trace`: a policy and a seed each fill the cluster of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kpolicy.offline.fill.recipe import Recipe
from kpolicy.offline.fill.run import run_fill
from kpolicy.offline.fill.trace import Trace
from kpolicy.offline.sweeps.days_cells import Cell, Variant

# Of the demand that arrived, in percent of the GPUs of the cluster.
_POINTS: Final = (80, 90, 100, 130)
# The figures of the table, and its headings; the others are in CSV and JSON.
SHOWN: Final = {
    "at 90% gpu allocation": "allocated at 90%",
    "at 100% gpu allocation": "at 100%",
    "at 130% gpu allocation": "at 130%",
    "at 100% gpu fragmentation": "fragments at 100%",
}


@dataclass(frozen=True, slots=True)
class TraceWork:
    """Sent to each worker once. Figures are shares of all GPUs."""

    trace: Trace
    variants: tuple[Variant, ...]

    def __call__(self, cell: Cell) -> dict[str, float]:
        filled = run_fill(
            self.trace, self.variants[cell.variant].program.bytes, cell.seed, Recipe()
        )
        figures: dict[str, float] = {"arrived": filled.arrived, "placed": filled.placed}
        for point in _POINTS:
            figures[f"at {point}% gpu allocation"] = filled.allocated[point] / 100
            figures[f"at {point}% gpu fragmentation"] = filled.fragments[point] / 100
        return figures
