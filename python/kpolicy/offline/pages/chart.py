"""What a chart gives to a page: options of Apache ECharts as JSON, and what the page needs beside.

Beyond what ECharts knows, options may hold: `unit` of an axis or a series (`number`, `percent`,
`bytes`, `seconds`, `time`); colours as `@name`, of `browser/page.css`; `painted` series, whose
items have a `fill` or one `fill` for each view; `shown`, the label of an item; `tip`, the lines of
its tooltip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

Option = dict[str, Any]
# The fill of a cell: a share from 0 to 1, None for nothing, or one of these.
Fill = float | None
REJECTED: Final = -1
ALSO_REJECTED: Final = -2
# Digits of a share that anybody sees.
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Drawing:
    """`height` and `width_min` in pixels; a chart that needs more width than there is can be
    scrolled. `views`: names of what a chart can show in turn. `summary` is read out to those who
    do not see the chart."""

    option: Option
    summary: str
    height: int = 320
    width_min: int = 0
    views: tuple[str, ...] = ()
    extra: Mapping[str, Any] | None = None


class Chart(Protocol):
    @property
    def title(self) -> str: ...

    @property
    def about(self) -> str:
        """A sentence on what it shows; may be empty."""

    def drawing(self) -> Drawing: ...


def fill_of(share: Fill) -> Fill:
    return share if share is None else round(share, _DIGITS)


def share_between(value: float, span: tuple[float, float]) -> float:
    """From the lowest, 0, to the highest, 1; 0 where all are equal."""
    low, high = span
    return (value - low) / (high - low) if high > low else 0.0


def shades(*, rejected: bool, also: bool = False, nothing: str = "") -> Option:
    """The legend of what is painted: a share from 0 to 1, and what else is there."""
    steps = ["0–20%", *(f"–{20 * step + 20}%" for step in range(1, 5))]
    pieces = [
        {"min": step, "max": step + 1, "label": label, "color": f"@ramp-{step}"}
        for step, label in enumerate(steps)
    ]
    further = (("@bad", "rejected", rejected), ("@soft", "also rejected", also))
    pieces += [
        {"value": 10 + at, "label": label, "color": color}
        for at, (color, label, is_there) in enumerate(further)
        if is_there
    ]
    if nothing:
        pieces.append({"value": 20, "label": nothing, "color": "@none"})
    return {
        "type": "piecewise",
        # Items have their colours already.
        "seriesIndex": [],
        "selectedMode": False,
        "hoverLink": False,
        "orient": "horizontal",
        "left": "center",
        "bottom": 0,
        "itemGap": 6,
        "itemWidth": 12,
        "textGap": 4,
        "textStyle": {"fontSize": 11},
        "pieces": pieces,
    }
