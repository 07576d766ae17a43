"""Runs of several policies with several seeds: what to work on side by side, and what comes of it.

`FillWork` is sent to a worker once, cells one by one; both are picklable.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kpolicy.offline.fill.filled_cluster import Outcome
from kpolicy.offline.fill.openb import DEFAULT_PODS, read_openb
from kpolicy.offline.fill.recipe import Recipe
from kpolicy.offline.fill.run import Filled, run_fill
from kpolicy.offline.fill.trace import Trace
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.quick_dataclass import dataclass

OPENB: Final = "openb:"
UNKNOWN_TRACE: Final = "UnknownTrace"


@dataclass(frozen=True, slots=True)
class FillCell:
    """`policy` is an index into the programs of the `FillWork`."""

    policy: int
    seed: int


@dataclass(frozen=True, slots=True)
class FillWork:
    trace: Trace
    programs: tuple[bytes, ...]
    recipe: Recipe

    def __call__(self, cell: FillCell) -> Filled:
        return run_fill(self.trace, self.programs[cell.policy], cell.seed, self.recipe)


def cells_of(policies: int, seeds: Sequence[int]) -> list[FillCell]:
    return [FillCell(policy, seed) for policy in range(policies) for seed in seeds]


def outcomes(
    names: Sequence[str], cells: Sequence[FillCell], filled: Sequence[Filled]
) -> list[Outcome]:
    """One for each policy that has cells."""
    runs: dict[int, list[Filled]] = {}
    for cell, run in zip(cells, filled, strict=True):
        runs.setdefault(cell.policy, []).append(run)
    return [Outcome(names[policy], tuple(own)) for policy, own in runs.items()]


def trace_at(written: str, variant: str = DEFAULT_PODS) -> Trace | Problem:
    """The trace that a flag names: `openb:FOLDER`."""
    if not written.startswith(OPENB):
        hint = f"write {OPENB}FOLDER"
        return Problem(UNKNOWN_TRACE, written, "", "no kind of trace that is known", hint)
    return read_openb(Path(written.removeprefix(OPENB)), variant)
