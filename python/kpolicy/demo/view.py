"""The demo's view: live bars and a table on a terminal, plain lines otherwise.

Owns what is shown while the demo runs. Assumes a `rich` console. Must not know where the numbers
come from, nor wait for anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table

from kpolicy.demo.tally import Tally
from kpolicy.demo.world import WORKLOADS

PLAIN_LINE_EVERY_PODS = 500
REFRESH_PER_SECOND = 8


class View(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def say(self, line: str) -> None: ...
    def progress(self, tally: Tally, pods_total: int, placed_per_second: float) -> None: ...


def view_for(console: Console) -> View:
    return LiveView(console) if console.is_terminal else PlainView(console)


@dataclass(slots=True)
class PlainView:
    """A line when something happened; nothing that moves."""

    console: Console
    _said_at: int = field(default=0, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def progress(self, tally: Tally, pods_total: int, placed_per_second: float) -> None:
        if tally.placed < self._said_at + PLAIN_LINE_EVERY_PODS:
            return
        self._said_at = tally.placed
        self.say(
            f"  placed {tally.placed:,} of {pods_total:,} pods ({placed_per_second:,.0f} a second)"
        )


@dataclass(slots=True)
class LiveView:
    """One bar for all pods and a row for each kind."""

    console: Console
    _live: Live = field(init=False)
    _bars: Progress = field(init=False)
    _bar: TaskID | None = field(default=None, init=False)
    _table: Table = field(default_factory=Table, init=False)

    def __post_init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f} pods/s"),
            console=self.console,
        )
        self._live = Live(
            get_renderable=lambda: Group(self._table, self._bars),
            console=self.console,
            refresh_per_second=REFRESH_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False)

    def progress(self, tally: Tally, pods_total: int, placed_per_second: float) -> None:
        if self._bar is None:
            self._bar = self._bars.add_task("placing", total=pods_total, rate=0.0)
        self._bars.update(self._bar, completed=tally.placed, rate=placed_per_second)
        self._table = kinds_table(tally)


def kinds_table(tally: Tally) -> Table:
    table = Table(box=None, pad_edge=False, title="pods by kind", title_justify="left")
    table.add_column("kind")
    table.add_column("placed", justify="right")
    table.add_column("pending", justify="right")
    table.add_column("what it is", style="dim")
    for workload in WORKLOADS:
        placed = tally.placed_by_kind.get(workload.name, 0)
        pending = tally.pending_by_kind.get(workload.name, 0)
        if placed or pending:
            table.add_row(workload.name, f"{placed:,}", f"{pending:,}", workload.about)
    return table
