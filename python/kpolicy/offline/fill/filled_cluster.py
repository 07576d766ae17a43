"""What several runs of one policy come to: means and deviations at some points of demand."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from kpolicy.offline.fill.run import Filled
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.fmean(values), statistics.pstdev(values))

    def line(self) -> dict[str, float]:
        return {"mean": round(self.mean, 2), "deviation": round(self.deviation, 2)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """`runs` is not empty."""

    policy: str
    runs: tuple[Filled, ...]

    def allocated(self, percent: int) -> Spread:
        return Spread.of([run.allocated[percent] for run in self.runs])

    def fragments(self, percent: int) -> Spread:
        return Spread.of([run.fragments[percent] for run in self.runs])

    def line(self, percents: Sequence[int]) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "seeds": [run.seed for run in self.runs],
            "allocated": {str(percent): self.allocated(percent).line() for percent in percents},
            "fragments": {str(percent): self.fragments(percent).line() for percent in percents},
        }
