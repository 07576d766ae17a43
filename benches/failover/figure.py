"""One measured value beside its limit: whether the limit was kept, and the row of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.offline.reports.columns import columns


@dataclass(frozen=True, slots=True)
class Figure:
    """No value may be above `allowed`; `unit` is "s", or empty for counts."""

    what: str
    values: tuple[float, ...]
    allowed: float
    unit: str = "s"

    @property
    def held(self) -> bool:
        return bool(self.values) and max(self.values) <= self.allowed

    def line(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "values": [round(value, 3) for value in self.values],
            "allowed": self.allowed,
            "unit": self.unit,
            "held": self.held,
        }

    def failure(self) -> str:
        return f"{self.what}: {self._worst()}, {self._number(self.allowed)} allowed"

    def cells(self) -> list[str]:
        least = self._number(min(self.values)) if self.values else ""
        return [
            self.what,
            str(len(self.values)),
            least,
            self._worst(),
            self._number(self.allowed),
            "yes" if self.held else "NO",
        ]

    def _worst(self) -> str:
        return self._number(max(self.values)) if self.values else "not measured"

    def _number(self, value: float) -> str:
        return f"{value:.2f} s" if self.unit else f"{value:,.0f}"


def table(figures: Sequence[Figure]) -> list[str]:
    headings = ["", "times", "least", "most", "allowed", "held"]
    return columns([headings, *(figure.cells() for figure in figures)], right=(1, 2, 3, 4))
