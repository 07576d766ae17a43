"""Bars: one for each name and series, side by side, or one on the other as the scores of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.offline.pages.chart import Drawing, Option

_BAR_PIXELS: Final = 26
_NAME_PIXELS: Final = 170


@dataclass(frozen=True, slots=True)
class BarSeries:
    """`values` has one for each name of the chart; None for no bar."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars, the first name at the top. `unit`: see `chart`."""

    title: str
    names: Sequence[str]
    series: Sequence[BarSeries]
    about: str = ""
    unit: str = "number"
    is_stacked: bool = False

    def drawing(self) -> Drawing:
        rows = len(self.names) * (1 if self.is_stacked else max(1, len(self.series)))
        has_legend = len(self.series) > 1
        option: Option = {
            "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
            "grid": {
                "left": 8,
                "right": 24,
                "top": 40 if has_legend else 8,
                "bottom": 8,
                "outerBoundsMode": "same",
            },
            "xAxis": {
                "type": "value",
                "unit": self.unit,
                "axisLabel": {"hideOverlap": True},
                **({"minInterval": 1} if self._is_counted() else {}),
            },
            "yAxis": {
                "type": "category",
                "inverse": True,
                "data": list(self.names),
                "axisLabel": {"width": _NAME_PIXELS, "overflow": "truncate"},
            },
            "series": [
                {
                    "type": "bar",
                    "name": each.name,
                    "unit": self.unit,
                    "data": list(each.values),
                    "barMaxWidth": _BAR_PIXELS - 6,
                    **({"stack": "all"} if self.is_stacked else {}),
                }
                for each in self.series
            ],
        }
        if has_legend:
            option["legend"] = {"type": "scroll", "top": 0}
        height = (80 if has_legend else 48) + _BAR_PIXELS * rows
        skips = {"skipsZero": self.is_stacked}
        return Drawing(option, self._summary(), height, width_min=320, extra=skips)

    def _is_counted(self) -> bool:
        return all(isinstance(value, int | None) for each in self.series for value in each.values)

    def _summary(self) -> str:
        series = ", ".join(each.name for each in self.series)
        return f"{self.title}: bars of {series} for {len(self.names):,} names."


def bars_by_side(
    title: str,
    values: Mapping[str, Mapping[str, float]],
    sides: Sequence[str],
    about: str = "",
    unit: str = "number",
) -> Bars:
    """By name and side, such as `old` and `new`; the sides stand beside each other."""
    series = [BarSeries(side, [each[side] for each in values.values()]) for side in sides]
    return Bars(title, list(values), series, about, unit)
