"""A map of cells: rows, such as nodes, by columns, such as rules. A slider moves to further
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.offline.pages.chart import (
    ALSO_REJECTED,
    REJECTED,
    Drawing,
    Fill,
    Option,
    fill_of,
    shades,
)

_ROWS_SHOWN: Final = 25
_ROW_PIXELS: Final = 24
_COLUMN_PIXELS: Final = 46
_NAME_PIXELS: Final = 170
_HEAD_PIXELS: Final = 130
_LEGEND_PIXELS: Final = 40


@dataclass(frozen=True, slots=True)
class Row:
    """`tip` is the name in full."""

    name: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """At a row and a column; `shown` stands in it, `tip` in its tooltip."""

    row: int
    column: int
    fill: Fill
    shown: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    title: str
    rows: Sequence[Row]
    columns: Sequence[str]
    cells: Sequence[Cell]
    about: str = ""

    def drawing(self) -> Drawing:
        shown = min(len(self.rows), _ROWS_SHOWN)
        is_long = len(self.rows) > shown
        fills = {cell.fill for cell in self.cells}
        option: Option = {
            "grid": {
                "left": _NAME_PIXELS,
                "right": 40 if is_long else 12,
                "top": _HEAD_PIXELS,
                "bottom": _LEGEND_PIXELS,
                "outerBoundsMode": "none",
            },
            "xAxis": {
                "type": "category",
                "position": "top",
                "data": list(self.columns),
                "axisLabel": {
                    "rotate": 40,
                    "interval": 0,
                    "width": _HEAD_PIXELS + 30,
                    "overflow": "truncate",
                },
            },
            "yAxis": {
                "type": "category",
                "inverse": True,
                "data": [row.name for row in self.rows],
                "axisLabel": {
                    "width": _NAME_PIXELS - 20,
                    "overflow": "truncate",
                    "interval": 0,
                },
            },
            "visualMap": shades(rejected=REJECTED in fills, also=ALSO_REJECTED in fills),
            "series": [
                {
                    "type": "heatmap",
                    "painted": True,
                    "label": {"show": True},
                    "itemStyle": {"borderColor": "@surface", "borderWidth": 1},
                    "data": [self._item(cell) for cell in self.cells],
                }
            ],
        }
        if is_long:
            option["dataZoom"] = [
                {
                    "type": "slider",
                    "yAxisIndex": 0,
                    "right": 4,
                    "width": 16,
                    "startValue": 0,
                    "endValue": shown - 1,
                    "showDetail": False,
                    "brushSelect": False,
                }
            ]
        height = _HEAD_PIXELS + _LEGEND_PIXELS + _ROW_PIXELS * max(shown, 1)
        width = _NAME_PIXELS + 60 + _COLUMN_PIXELS * len(self.columns)
        tips = {"rowTips": [row.tip or row.name for row in self.rows]}
        return Drawing(option, self._summary(), height, width, extra=tips)

    def _item(self, cell: Cell) -> Option:
        item: Option = {
            # ECharts paints no cell without a value of its own.
            "value": [cell.column, cell.row, 1],
            "fill": fill_of(cell.fill),
            "shown": cell.shown,
        }
        return {**item, "cell": cell.tip or cell.shown or "–"}

    def _summary(self) -> str:
        rejected = sum(cell.fill == REJECTED for cell in self.cells)
        size = f"{len(self.rows):,} rows by {len(self.columns):,} columns"
        return f"{self.title}: a map of {size}; {rejected:,} cells are rejections."
