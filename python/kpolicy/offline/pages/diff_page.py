"""The page of `diff`: which pods a new policy places on other nodes, which rules make it so, and
what becomes of workloads, zones and nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.limits import PAGE_BARS_MAX
from kpolicy.offline.pages.bar_chart import Bars, BarSeries, bars_by_side
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.move_chart import Move, Moves
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section
from kpolicy.offline.pages.shown_cluster import ShownCluster
from kpolicy.offline.pages.simulate_page import fullness_bars

_KINDS: Final = {
    "moved": "another node",
    "placedByOld": "placed by the old policy only",
    "placedByNew": "placed by the new policy only",
    "servedByOld": "served by the old policy only",
    "servedByNew": "served by the new policy only",
}
_SIDES: Final = ("before", "old", "new")
# Up to so many nodes, moves are between nodes; beyond, between zones.
_NODES_MAX: Final = 24


def diff_page(
    document: Mapping[str, Any], cluster: ShownCluster | None = None, about: str = ""
) -> str:
    """`document` is what `kpolicy diff --output json` prints; `cluster` tells where nodes are."""
    differences: Sequence[Mapping[str, Any]] = document["differences"]
    summary: Mapping[str, Any] = document["summary"]
    sections = [
        Section("Who moves where", list(_moves(differences, cluster))),
        Section("What becomes of the cluster", list(_cluster(summary))),
        Section("Workloads", list(_workloads(summary))),
        Section("Each pod that is decided differently", list(_differences(differences))),
    ]
    placed = f"{summary['old']['placed']:,} → {summary['new']['placed']:,}"
    figures = [
        Figure("pods", f"{summary['pods']:,}"),
        Figure("decided differently", f"{summary['differ']:,}"),
        Figure("placed, old → new", placed),
        *(Figure(name, f"{summary[kind]:,}") for kind, name in _KINDS.items() if summary[kind]),
    ]
    shown = [section for section in sections if section.parts]
    return Page("Two policies compared", shown, figures, about).html()


def _moves(
    differences: Sequence[Mapping[str, Any]], cluster: ShownCluster | None
) -> Iterator[Part]:
    if not differences:
        yield "No pod is decided differently."
        return
    sides = [(each["old"], each["new"]) for each in differences]
    nodes = {side["node"] for pair in sides for side in pair if "node" in side}
    is_by_zone = cluster is not None and len(nodes) > _NODES_MAX
    places = cluster if is_by_zone else None
    moves = [Move(_place(old, places), _place(new, places), 1) for old, new in sides]
    about = "From where the old policy places pods, on the left, to where the new one does."
    if is_by_zone:
        about += " By zone."
    yield Moves("Pods that are decided differently", moves, about)


def _place(side: Mapping[str, Any], places: ShownCluster | None) -> str:
    if side.get("notServed"):
        return "(not served)"
    node = side.get("node")
    if not node:
        return "(pending)"
    return places.place_of(node) if places is not None else str(node)


def _cluster(summary: Mapping[str, Any]) -> Iterator[Part]:
    rules = list(summary["byRule"].items())[:PAGE_BARS_MAX]
    if rules:
        series = [BarSeries("pods", [count for _, count in rules])]
        about = "Of the first differences, the rule that made each."
        yield Bars("Rules that made a difference", [rule for rule, _ in rules], series, about)
    yield from fullness_bars(summary["fullness"], _SIDES)
    for label, counts in summary["shares"].items():
        if counts:
            yield shares_of(label, counts, ("old", "new"))


def shares_of(label: str, counts: Mapping[str, Mapping[str, int]], sides: Sequence[str]) -> Bars:
    """Pods by the value of a label of their nodes, those that change most first."""
    order = sorted(counts, key=lambda value: (-abs(_change(counts[value])), value))
    shown = {value or "(without the label)": counts[value] for value in order[:PAGE_BARS_MAX]}
    return bars_by_side(f"Placed pods by {label}", shown, sides)


def _change(counts: Mapping[str, int]) -> int:
    return counts["new"] - counts["old"]


def _workloads(summary: Mapping[str, Any]) -> Iterator[Part]:
    columns = [
        Column("workload"),
        Column("pods", "number"),
        Column("placed by old", "number"),
        Column("placed by new", "number"),
        Column("moved", "number"),
    ]
    rows = [
        (name, each["pods"], each["placed"]["old"], each["placed"]["new"], each["moved"])
        for name, each in summary["workloads"].items()
    ]
    if rows:
        yield DataTable("Pending pods by workload", columns, rows)


def _differences(differences: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    columns = [Column("pod"), Column("what"), Column("old"), Column("new"), Column("why")]
    rows = [
        (
            each["pod"] + (" (on a node)" if each.get("onNode") else ""),
            _KINDS[each["kind"]],
            _place(each["old"], None),
            _place(each["new"], None),
            _why(each.get("why")),
        )
        for each in differences
    ]
    if rows:
        yield DataTable("Differences", columns, rows)


def _why(reason: Mapping[str, Any] | None) -> str:
    if reason is None:
        return ""
    if reason["kind"] == "rejected":
        what = reason.get("node", "the pod")
        why = ", ".join(reason["reasons"])
        return f"{reason['rule']} of the {reason['by']} policy rejects {what}: {why}"
    if reason["kind"] == "tie":
        return "equal scores under each policy; another node was chosen"
    return "scores: " + ", ".join(f"{rule['rule']} {rule['shift']:+,}" for rule in reason["rules"])
