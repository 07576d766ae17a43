"""The table of a sweep, and its cells as CSV."""

from __future__ import annotations

import csv
import io

from kpolicy.api_times import NANOSECONDS
from kpolicy.offline.days.durations import duration_text
from kpolicy.offline.reports.columns import columns, percent
from kpolicy.offline.sweeps.days_cells import Spread, Sweep

_SHARES = ("allocation", "fragmentation", "imbalance")


def sweep_text(sweep: Sweep) -> list[str]:
    """The mean of each figure over seeds, and its standard deviation."""
    names = [name for name, _ in sweep.variants[0].values]
    rows = [["policy", *names, *sweep.shown.values()]]
    for variant, spreads in sweep.spreads():
        values = [value for _, value in variant.values]
        figures = [_figure(name, spreads[name]) for name in sweep.shown if name in spreads]
        rows.append([variant.policy, *values, *figures])
    return columns(rows, right=range(1 + len(names), len(rows[0])))


def _figure(name: str, spread: Spread) -> str:
    if name.endswith(_SHARES):
        return f"{percent(spread.mean)} ± {100 * spread.deviation:.1f}"
    if name.endswith("seconds"):
        shown, apart = (
            duration_text(round(value) * NANOSECONDS) for value in (spread.mean, spread.deviation)
        )
        return f"{shown} ± {apart}"
    return f"{spread.mean:,.1f} ± {spread.deviation:,.1f}"


def sweep_csv(sweep: Sweep) -> str:
    """A row for each cell."""
    names = [name for name, _ in sweep.variants[0].values]
    figures = list(dict.fromkeys(name for result in sweep.results for name in result))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["policy", *names, "seed", *figures])
    for cell, result in zip(sweep.cells, sweep.results, strict=True):
        variant = sweep.variants[cell.variant]
        values = [value for _, value in variant.values]
        row = [variant.policy, *values, cell.seed, *(result.get(name, "") for name in figures)]
        writer.writerow(row)
    return out.getvalue()
