"""Values over time as lines, on one axis or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kpolicy.offline.limits import PAGE_POINTS_MAX
from kpolicy.offline.pages.chart import Drawing, Option

Point = tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Line:
    """`points` in the order of time. `is_second`: it belongs to the axis on the right. `is_step`:
    a value holds until the next."""

    name: str
    points: Sequence[Point]
    is_second: bool = False
    is_step: bool = False


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """`time_unit` is `seconds` since the beginning, or `time`, in milliseconds since the epoch.
    `units` are of the left and of the right axis."""

    title: str
    lines: Sequence[Line]
    about: str = ""
    time_unit: str = "seconds"
    units: tuple[str, str] = ("number", "number")

    def drawing(self) -> Drawing:
        option: Option = {
            "tooltip": {"trigger": "axis"},
            "legend": {"type": "scroll", "top": 0},
            "grid": {"left": 8, "right": 16, "top": 44, "bottom": 52, "outerBoundsMode": "same"},
            "xAxis": {
                "type": "time" if self.time_unit == "time" else "value",
                "min": "dataMin",
                "max": "dataMax",
                "unit": self.time_unit,
                "axisLabel": {"hideOverlap": True},
            },
            "yAxis": [
                {"type": "value", "unit": unit, "splitLine": {"show": not side}}
                for side, unit in enumerate(self.units)
                if not side or any(line.is_second for line in self.lines)
            ],
            "dataZoom": [
                {"type": "slider", "bottom": 8, "height": 22, "showDetail": False},
            ],
            "series": [
                {
                    "type": "line",
                    "name": line.name,
                    "unit": self.units[line.is_second],
                    "yAxisIndex": int(line.is_second),
                    "data": [list(point) for point in thinned(line.points)],
                    "showSymbol": False,
                    **({"step": "end"} if line.is_step else {}),
                    **({"lineStyle": {"type": "dashed"}} if line.is_second else {}),
                }
                for line in self.lines
            ],
        }
        names = ", ".join(line.name for line in self.lines)
        summary = f"{self.title}: lines of {names} over time."
        return Drawing(option, summary, height=360, width_min=320)


def thinned(points: Sequence[Point]) -> list[Point]:
    """At most as many as a page holds: of each part of a longer line its lowest and its highest
    point, so that no peak is lost."""
    if len(points) <= PAGE_POINTS_MAX:
        return list(points)
    parts = (PAGE_POINTS_MAX - 2) // 2
    kept = [points[0]]
    inner = points[1:-1]
    for part in range(parts):
        piece = inner[part * len(inner) // parts : (part + 1) * len(inner) // parts]
        known = [point for point in piece if point[1] is not None]
        if known:
            ends = {min(known, key=_value), max(known, key=_value)}
            kept += sorted(ends)
        elif piece:
            kept.append(piece[0])
    return [*kept, points[-1]]


def _value(point: Point) -> float:
    return point[1] or 0.0
