"""The demo's view: live bars and a table on a terminal, plain lines otherwise.

Owns what is shown while the demo runs. Assumes a `rich` console. Must not know where the numbers
come from, nor wait for anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table

from kpolicy.demo.demo_cluster import WORKLOADS
from kpolicy.demo.tally import Tally

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


REASONS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    decisions: int
    decision_seconds: float
    before_reload: Tally
    after_reload: Tally


def show(console: Console, measured: Measured) -> None:
    tally = measured.after_reload
    console.print()
    console.print(kinds_table(tally))
    console.print()
    rate = tally.placed / measured.seconds
    write(
        console,
        f"placed   {tally.placed:,} pods in {measured.seconds:.1f} s "
        f"({rate:,.0f} a second, API server included)",
    )
    write(console, f"pending  {tally.pending:,} pods, by reason:")
    reasons = sorted(tally.pending_by_reason.items(), key=lambda item: (-item[1], item[0]))
    for reason, count in reasons[:REASONS_SHOWN]:
        write(console, f"  {count:>5}  {reason}")
    if measured.decision_seconds > 0:
        rate = measured.decisions / measured.decision_seconds
        write(
            console,
            f"decided  {measured.decisions:,} times, "
            f"{rate:,.0f} decisions a second in the engine, every node scored",
        )
    used = ", ".join(f"{share:.0%} of {name}" for name, share in tally.utilisation.items())
    write(console, f"used     {used} (of the nodes that take pods)")


def write(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


NODES_SHOWN = 3

Explanation = Mapping[str, Any]


def lines(explained: Explanation, node_now: str = "") -> list[str]:
    """What was rejected and why, then the best nodes with each rule's part of the total."""
    nodes = explained.get("nodes", [])
    text = [f"{explained['pod']}: " + (f"on {node_now}" if node_now else "pending")]
    text += [f"  {count:>5} nodes: {why}" for why, count in rejections(nodes)]
    scored = sorted(
        (node for node in nodes if "total" in node), key=lambda node: (-node["total"], node["name"])
    )
    if scored:
        text.append(f"  {len(scored):>5} nodes fit; the best of them:")
        text += [f"        {score(node)}" for node in scored[:NODES_SHOWN]]
    if explained.get("message"):
        text.append(f"  {explained['message']}")
    return text


def rejections(nodes: list[Mapping[str, Any]]) -> list[tuple[str, int]]:
    counted = Counter(
        f"{', '.join(node['filter']['reasons'])} ({node['filter']['plugin']})"
        for node in nodes
        if "filter" in node
    )
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def score(node: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{rule} {points}" for rule, points in node["weighted"].items())
    return f"{node['name']}: {node['total']} = {parts}"
