"""Parts of a page about advice: what would place a pod, the nodes nearest to taking it by the rules
that keep it off them, and what decided where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kpolicy.offline.limits import PAGE_SERIES_MAX
from kpolicy.offline.pages.bar_chart import Bars, BarSeries
from kpolicy.offline.pages.chart import REJECTED
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.heat_map import Cell, HeatMap, Row
from kpolicy.offline.pages.page_frame import Part
from kpolicy.offline.reports.advice_text import against_text, ahead_text, changes_text
from kpolicy.offline.reports.columns import counted, largest_first

Advice = Mapping[str, Any]


def suggestions(advice: Advice) -> Iterator[Part]:
    """Ranked, the smallest first; a sentence where there are none."""
    if "suggestions" not in advice:
        return
    rows = [
        (rank, changes_text(each), each["of"], each["node"], each["size"])
        for rank, each in enumerate(advice["suggestions"], start=1)
    ]
    if rows:
        columns = [
            Column("rank", "number"),
            Column("change"),
            Column("of"),
            Column("then placed on"),
            Column("parts", "number"),
        ]
        about = (
            "The smallest change first. Each stands by itself: it was made in a copy of the "
            "cluster or of the policy, and the pod was decided again."
        )
        yield DataTable("What would place the pod", columns, rows, about)
    else:
        yield "No small change of the pod, of a node or of the policy would place it."
    if not advice["isComplete"]:
        yield f"The search ended after {counted(advice['decisions'], 'decision')}."


def nearest(advice: Advice) -> Iterator[Part]:
    nodes: Sequence[Mapping[str, Any]] = advice.get("nearest", ())
    if not nodes:
        return
    counts: Counter[str] = Counter(rule["rule"] for node in nodes for rule in node["rules"])
    columns = [rule for rule, _ in largest_first(counts)]
    cells = [
        Cell(
            row, columns.index(rule["rule"]), REJECTED, "×", f"rejects: {against_text(node, rule)}"
        )
        for row, node in enumerate(nodes)
        for rule in node["rules"]
    ]
    about = "The nearest first: the fewest rules keep the pod off it."
    rows = [Row(node["node"], node["node"]) for node in nodes]
    yield HeatMap("Nodes nearest to taking the pod", rows, columns, cells, about)
    reasons = [
        (place, node["node"], rule["rule"], against_text(node, rule))
        for place, node in enumerate(nodes, start=1)
        for rule in node["rules"]
    ]
    heads = [Column("place", "number"), Column("node"), Column("rule"), Column("what it says")]
    yield DataTable("What keeps the pod off them", heads, reasons)


def runners_up(advice: Advice) -> Iterator[Part]:
    """Of a pod that fits somewhere: its node beside the best others."""
    others: Sequence[Mapping[str, Any]] = advice.get("runnersUp", ())
    if not others:
        return
    sums: Counter[str] = Counter()
    for other in others:
        sums.update({rule["rule"]: abs(rule["by"]) for rule in other["rules"]})
    differences = [{rule["rule"]: rule["by"] for rule in other["rules"]} for other in others]
    order = [rule for rule, _ in largest_first(sums)][:PAGE_SERIES_MAX]
    if order:
        series = [BarSeries(rule, [each.get(rule, 0) for each in differences]) for rule in order]
        about = (
            "The fewest rules without which it would not be so, and by how much each scores "
            f"{advice['node']} higher; bars to the left score the other node higher."
        )
        names = [other["node"] for other in others]
        title = f"What puts {advice['node']} before other nodes"
        yield Bars(title, names, series, about, is_stacked=True)
    rows = [
        (
            other["node"],
            other["total"],
            ahead_text(other["by"]),
            ", ".join(f"{rule['rule']} {rule['by']:+,}" for rule in other["rules"]),
        )
        for other in others
    ]
    columns = [
        Column("node"),
        Column("score", "number"),
        Column(f"{advice['node']} is"),
        Column("because of"),
    ]
    yield DataTable("The best other nodes", columns, rows)
