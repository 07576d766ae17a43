"""Prints the comparison as a table: headings and rounded figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benches.peer.comparison import Row
from kpolicy.offline.reports.columns import columns

HEADINGS = (
    "workload",
    "nodes",
    "scheduler",
    "scored",
    "pods",
    "placed",
    "pods/s",
    "best",
    "p50 µs",
    "p99 µs",
    "cpu µs",
    "kpolicy is",
)
_FIRST_NUMBER = 4


def table(rows: Sequence[Row]) -> list[str]:
    cells: list[Sequence[str]] = [HEADINGS]
    for _, group in groupby(rows, key=lambda row: row.workload):
        for position, row in enumerate(group):
            cells.append(_cells(row, is_first=position == 0))
    return columns(cells, right=(1, *range(_FIRST_NUMBER, len(HEADINGS))))


def _cells(row: Row, *, is_first: bool) -> list[str]:
    return [
        row.workload if is_first else "",
        f"{row.size.nodes:,}" if is_first else "",
        row.scheduler,
        row.scored,
        f"{row.pods:,}",
        f"{row.scheduled:,}",
        _number(row.pods_per_second),
        _number(row.best),
        _number(row.p50_us),
        _number(row.p99_us),
        _number(row.cpu_us),
        f"{_number(row.ratio)}x" if row.ratio else "",
    ]


def _number(value: float) -> str:
    """The number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
