"""The page of `sweep`: policies, seeds and values of parameters side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.pages.bar_chart import Bars, BarSeries
from kpolicy.offline.pages.chart import share_between
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.heat_map import Cell, HeatMap, Row
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section
from kpolicy.offline.reports.columns import percent

# How figures end whose values have a unit; others are numbers.
_UNITS: Final = {
    " seconds": "seconds",
    " allocation": "percent",
    " fragmentation": "percent",
    " imbalance": "percent",
}

Variant = Mapping[str, Any]


def sweep_page(document: Mapping[str, Any], about: str = "") -> str:
    """`document` is what `sweep --output json` prints."""
    variants: Sequence[Variant] = document["variants"]
    cells: Sequence[Mapping[str, Any]] = document["cells"]
    names = list(dict.fromkeys(name for each in variants for name in each["figures"]))
    varied = [
        name for name in names if len({each["figures"][name]["mean"] for each in variants}) > 1
    ]
    sections = [
        Section("All figures", [_overview(variants, names)]),
        Section("Figures that differ", list(_bars(variants, varied))),
        Section("Cells", [_cells(cells, names)]),
    ]
    figures = [
        Figure("policies with values", f"{len(variants):,}"),
        Figure("seeds", f"{len({cell['seed'] for cell in cells}):,}"),
        Figure("simulated", f"{len(cells):,}"),
    ]
    shown = [section for section in sections if section.parts]
    return Page("Policies side by side", shown, figures, about).html()


def _label(variant: Variant) -> str:
    values = ", ".join(f"{name}={value}" for name, value in variant["values"].items())
    return f"{variant['policy']}, {values}" if values else str(variant["policy"])


def _unit(figure: str) -> str:
    return next((unit for end, unit in _UNITS.items() if figure.endswith(end)), "number")


def _overview(variants: Sequence[Variant], names: Sequence[str]) -> HeatMap:
    cells = []
    for column, name in enumerate(names):
        means = [each["figures"][name]["mean"] for each in variants]
        span = min(means), max(means)
        for row, variant in enumerate(variants):
            spread = variant["figures"][name]
            tip = (
                f"{_shown(spread['mean'], name)} ± {_shown(spread['deviation'], name)}, "
                f"from {_shown(spread['least'], name)} to {_shown(spread['most'], name)}"
            )
            fill = share_between(spread["mean"], span)
            cells.append(Cell(row, column, fill, _shown(spread["mean"], name), tip))
    about = "Means over the seeds; shades compare one figure, from the lowest to the highest."
    rows = [Row(_label(variant)) for variant in variants]
    return HeatMap("Policies by figures", rows, names, cells, about)


def _shown(value: float, figure: str) -> str:
    unit = _unit(figure)
    if unit == "percent":
        return percent(value)
    return f"{value:,.0f}s" if unit == "seconds" else f"{value:,.1f}".removesuffix(".0")


def _bars(variants: Sequence[Variant], names: Sequence[str]) -> Iterator[Part]:
    labels = [_label(variant) for variant in variants]
    for name in names:
        series = [
            BarSeries(side, [variant["figures"][name][side] for variant in variants])
            for side in ("least", "mean", "most")
        ]
        yield Bars(name, labels, series, unit=_unit(name))


def _cells(cells: Sequence[Mapping[str, Any]], names: Sequence[str]) -> DataTable:
    columns = [
        Column("policy"),
        Column("seed", "number"),
        *(Column(name, _unit(name)) for name in names),
    ]
    rows = [
        (_label(cell), cell["seed"], *(cell["figures"].get(name) for name in names))
        for cell in cells
    ]
    return DataTable("Each policy with each seed", columns, rows)
