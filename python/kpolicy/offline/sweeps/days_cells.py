"""Cells of `kpolicy sweep`: a policy, values of parameters and a seed each; and their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, Final, NamedTuple

from kpolicy.offline.days.course import Course
from kpolicy.offline.days.figures import percentiles, rounded
from kpolicy.offline.days.virtual_days import run_days
from kpolicy.policy.assembly.assemble import Program

Values = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """`variant` is an index into those of the `DaysWork`."""

    variant: int
    seed: int


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy with values of parameters: what cells of different seeds have in common."""

    policy: str
    values: Values
    course: int
    program: Program

    @property
    def label(self) -> str:
        return " ".join([self.policy, *(f"{name}={value}" for name, value in self.values)])


@dataclass(frozen=True, slots=True)
class DaysWork:
    """Sent to each worker once."""

    courses: tuple[Course, ...]
    variants: tuple[Variant, ...]

    def __call__(self, cell: Cell) -> dict[str, float]:
        variant = self.variants[cell.variant]
        result = run_days(self.courses[variant.course], variant.program, seed=cell.seed)
        waits = percentiles(result.waits_ns)
        figures: dict[str, float] = {
            "arrived": result.counts.arrived,
            "placed": result.counts.placed,
            "pending at end": result.pending,
            "pending mean": result.pending_mean,
            "preempted": result.counts.preempted,
            "displaced": result.counts.displaced,
            "wait mean seconds": result.wait_mean_s,
            **{f"wait {name} seconds": waits.get(name, 0.0) for name in ("p50", "p90", "p99")},
        }
        for resource in result.resources:
            for figure in ("allocation", "fragmentation", "imbalance"):
                figures[f"{resource} {figure}"] = result.mean(resource, figure)
        return figures


class Spread(NamedTuple):
    """Over seeds."""

    mean: float
    deviation: float
    least: float
    most: float

    def line(self) -> dict[str, float]:
        return {
            "mean": self.mean,
            "deviation": self.deviation,
            "least": self.least,
            "most": self.most,
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """`results` are in the order of `cells`: those of one variant after those of another. `shown`:
    the figures of the table, with their headings."""

    variants: tuple[Variant, ...]
    cells: tuple[Cell, ...]
    results: tuple[dict[str, float], ...]
    shown: Mapping[str, str]

    def spreads(self) -> Iterator[tuple[Variant, dict[str, Spread]]]:
        for place, variant in enumerate(self.variants):
            own = [
                result
                for cell, result in zip(self.cells, self.results, strict=True)
                if cell.variant == place
            ]
            yield variant, {name: _spread([each[name] for each in own]) for name in own[0]}

    def cell_lines(self) -> list[dict[str, Any]]:
        lines = []
        for cell, result in zip(self.cells, self.results, strict=True):
            variant = self.variants[cell.variant]
            lines.append(
                {
                    "policy": variant.policy,
                    "values": dict(variant.values),
                    "seed": cell.seed,
                    "figures": result,
                }
            )
        return lines

    def summary(self) -> list[dict[str, Any]]:
        return [
            {
                "policy": variant.policy,
                "values": dict(variant.values),
                "figures": {name: spread.line() for name, spread in spreads.items()},
            }
            for variant, spreads in self.spreads()
        ]


def cells_of(variants: Sequence[Variant], seeds: Sequence[int]) -> tuple[Cell, ...]:
    return tuple(Cell(variant, seed) for variant in range(len(variants)) for seed in seeds)


def _spread(values: Sequence[float]) -> Spread:
    return Spread(rounded(fmean(values)), rounded(pstdev(values)), min(values), max(values))


# The figures of the table, and its headings; the others are in CSV and JSON.
SHOWN: Final = {
    "pending mean": "pending",
    "wait p90 seconds": "wait 90%",
    "preempted": "preempted",
    "cpu allocation": "cpu allocated",
    "cpu fragmentation": "cpu fragmented",
    "cpu imbalance": "cpu imbalance",
}
