"""A table that readers sort by a column and filter by a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.offline.limits import PAGE_ROWS_MAX

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """`unit` of numbers (see `chart`); none for text."""

    title: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows beyond what a page holds are left out, and counted."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    about: str = ""

    @property
    def left_out(self) -> str:
        more = len(self.rows) - PAGE_ROWS_MAX
        return f"The first {PAGE_ROWS_MAX:,} rows; {more:,} more are left out." if more > 0 else ""

    def document(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "columns": [{"title": column.title, "unit": column.unit} for column in self.columns],
            "rows": [list(row) for row in self.rows[:PAGE_ROWS_MAX]],
        }
