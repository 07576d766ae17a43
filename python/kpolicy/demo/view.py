"""What the demo prints: progress, explanations and the summary.

A terminal gets a live bar and a table, anything else plain lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from kpolicy.demo.demo_cluster import WORKLOADS, Tally
from kpolicy.offline.reports.columns import largest_first
from kpolicy.offline.reports.explanation_text import rejections_text, scores_text

PLAIN_LINE_EVERY_PODS: Final = 500
REFRESH_PER_SECOND: Final = 8
REASONS_SHOWN: Final = 6
NODES_SHOWN: Final = 3


class View(AbstractContextManager["View"]):
    """Plain lines, and nothing that moves."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._pods_shown = 0

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, line: str) -> None:
        write(self.console, line)

    def progress(self, tally: Tally, pods_total: int, placed_per_second: float) -> None:
        if tally.placed >= self._pods_shown + PLAIN_LINE_EVERY_PODS:
            self._pods_shown = tally.placed
            rate = f"{placed_per_second:,.0f} a second"
            self.say(f"  placed {tally.placed:,} of {pods_total:,} pods ({rate})")


class LiveView(View):
    """One bar for all pods and a row for each kind."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._table = Table()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f} pods/s"),
            console=console,
        )
        self._live = Live(
            get_renderable=lambda: Group(self._table, self._bars),
            console=console,
            refresh_per_second=REFRESH_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def progress(self, tally: Tally, pods_total: int, placed_per_second: float) -> None:
        if not self._bars.tasks:
            self._bars.add_task("placing", total=pods_total, rate=0.0)
        bar = self._bars.task_ids[0]
        self._bars.update(bar, completed=tally.placed, rate=placed_per_second)
        self._table = kinds_table(tally)


def write(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


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


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of the summary. `tally` counts all pods."""

    seconds: float
    decisions: int
    decision_seconds: float
    tally: Tally


def show_summary(console: Console, measured: Measured) -> None:
    tally = measured.tally
    for part in ("", kinds_table(tally), ""):
        console.print(part)
    rate = f"{tally.placed / measured.seconds:,.0f} a second, API server included"
    lines = [
        f"placed   {tally.placed:,} pods in {measured.seconds:.1f} s ({rate})",
        f"pending  {tally.pending:,} pods, by reason:",
    ]
    reasons = largest_first(tally.pending_by_reason)[:REASONS_SHOWN]
    lines += [f"  {count:>5}  {reason}" for reason, count in reasons]
    if measured.decision_seconds > 0:
        speed = measured.decisions / measured.decision_seconds
        lines.append(
            f"decided  {measured.decisions:,} times, "
            f"{speed:,.0f} decisions a second in the engine, every node scored"
        )
    used = ", ".join(f"{share:.0%} of {name}" for name, share in tally.utilisation.items())
    for line in [*lines, f"used     {used} (of the nodes that take pods)"]:
        write(console, line)


def explanation_lines(explained: Mapping[str, Any], node_now: str = "") -> list[str]:
    """The best nodes with each rule's part of the total, and the reasons of rejections."""
    found = f"on {node_now}; if it were placed again now:" if node_now else "pending"
    message = explained.get("message")
    return [
        f"{explained['pod']}: {found}",
        *scores_text(explained, NODES_SHOWN),
        *rejections_text(explained.get("nodes", [])),
        *(["", f"  {message}"] if message else []),
    ]
