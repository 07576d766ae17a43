"""Cells of `kpolicy sweep --trace`: a policy and a seed each fill the cluster of a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kpolicy.offline.fill.recipe import Recipe
from kpolicy.offline.fill.run import run_fill
from kpolicy.offline.fill.trace import Trace
from kpolicy.offline.sweeps.days_cells import Cell, Variant

# Of the demand that arrived, in percent of the GPUs of the cluster.
_POINTS: Final = (80, 90, 100, 130)


def allocation(percent: int) -> str:
    return f"at {percent}% gpu allocation"


def fragmentation(percent: int) -> str:
    return f"at {percent}% gpu fragmentation"


# The figures of the table, and its headings; the others are in CSV and JSON.
SHOWN: Final = {
    allocation(90): "allocated at 90%",
    allocation(100): "at 100%",
    allocation(130): "at 130%",
    fragmentation(100): "fragments at 100%",
}


@dataclass(frozen=True, slots=True)
class TraceWork:
    """Sent to each worker once. Figures are shares of all GPUs."""

    trace: Trace
    variants: tuple[Variant, ...]
    recipe: Recipe = field(default_factory=Recipe)

    def __call__(self, cell: Cell) -> dict[str, float]:
        program = self.variants[cell.variant].program
        filled = run_fill(self.trace, program.bytes, cell.seed, self.recipe)
        figures: dict[str, float] = {"arrived": filled.arrived, "placed": filled.placed}
        for point in _POINTS:
            figures[allocation(point)] = filled.allocated[point] / 100
            figures[fragmentation(point)] = filled.fragments[point] / 100
        return figures
