"""The page of `plan`: what a new policy changes over snapshots and journals: pods that are placed,
parked, moved and evicted, and what becomes of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.limits import PAGE_BARS_MAX, PAGE_RESOURCES_MAX
from kpolicy.offline.pages.bar_chart import Bars, BarSeries, bars_by_side
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.diff_page import shares_of
from kpolicy.offline.pages.move_chart import Move, Moves
from kpolicy.offline.pages.node_map import MapNode, NodeMap
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section

_SIDES: Final = ("before", "old", "new")
_FIGURES: Final = {
    "fullness": "What pods ask for, as a share of what nodes have.",
    "fragmentation": "Of what is free, the share on nodes where usual pods do not fit.",
}
_CHANGES: Final = {
    "placed": "newly placed",
    "parked": "newly parked",
    "moved": "moved",
    "evicted": "newly evicted",
}


def plan_page(document: Mapping[str, Any], about: str = "") -> str:
    """`document` is what `plan --output json` prints; it has the nodes itself."""
    inputs: Sequence[Mapping[str, Any]] = document["inputs"]
    counts = document["counts"]
    sections = [
        Section("Thresholds", list(_thresholds(document["thresholds"]))),
        Section("Who moves where", list(_moves(inputs))),
        Section("How nodes fill", list(_measures(document))),
        *(
            Section(f"Nodes of {each['name']}", [_map(each["nodes"])], is_folded=at > 0)
            for at, each in enumerate(inputs)
            if each["nodes"]
        ),
        Section("Workloads", [_workloads(document["classes"])]),
        Section("Pods that change", list(_changes(inputs))),
        Section("Not measured", list(_not_measured(inputs))),
        Section("Problems of the inputs", list(_problems(inputs))),
    ]
    in_use = document["nodesInUse"]
    figures = [
        Figure("pods", f"{counts['pods']:,}"),
        *(Figure(name, f"{counts[key]:,}") for key, name in _CHANGES.items()),
    ]
    if any(each["nodes"] for each in inputs):
        used = f"{in_use['old']:,} → {in_use['new']:,}"
        figures.append(Figure("nodes in use, old → new", used))
    names = f"{document['old']['policy']} → {document['new']['policy']}"
    shown = [section for section in sections if section.parts]
    return Page("What a new policy changes", shown, figures, about or names).html()


def _thresholds(thresholds: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    rows = [(each["expression"], "yes" if each["isTrue"] else "no") for each in thresholds]
    if rows:
        yield DataTable("What the plan may not do", [Column("expression"), Column("true")], rows)


def _moves(inputs: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    zones = {node["name"]: node["zone"] for each in inputs for node in each["nodes"]}
    changes = [change for each in inputs for change in each["changes"]]
    nodes = {change[side] for change in changes for side in ("old", "new")}
    is_by_zone = len(nodes) > PAGE_BARS_MAX

    def place(node: str) -> str:
        if not node:
            return "(no node)"
        return (zones.get(node) or node) if is_by_zone else node

    moves = [Move(place(change["old"]), place(change["new"]), 1) for change in changes]
    if moves:
        about = "From nodes under the old policy, on the left, to nodes under the new one."
        yield Moves("Pods that change", moves, f"{about} By zone." if is_by_zone else about)


def _measures(document: Mapping[str, Any]) -> Iterator[Part]:
    rules = list(document["byRule"].items())[:PAGE_BARS_MAX]
    if rules:
        series = [BarSeries("pods", [count for _, count in rules])]
        about = "Of the first changes, the rule that made each."
        yield Bars("Rules that make the changes", [rule for rule, _ in rules], series, about)
    resources = document["resources"]
    for figure, about in _FIGURES.items():
        shares = {
            name: each[figure] for name, each in resources.items() if any(each[figure].values())
        }
        if shares:
            yield bars_by_side(figure.capitalize(), shares, _SIDES, about, "percent")
    for label, spread in document["spread"].items():
        if spread["values"]:
            yield shares_of(label, spread["values"], _SIDES)
    columns = [Column("column"), *(Column(side, "number") for side in _SIDES)]
    rows = [(name, *(each[side] for side in _SIDES)) for name, each in document["columns"].items()]
    if rows:
        yield DataTable("Columns, over the nodes in use", columns, rows)


def _map(nodes: Sequence[Mapping[str, Any]]) -> NodeMap:
    used = {
        name: None
        for node in nodes
        for name, each in node["resources"].items()
        if any(each[side] for side in _SIDES)
    }
    names = list(used)[:PAGE_RESOURCES_MAX]
    sides = tuple(reversed(_SIDES))
    shown = [
        MapNode(
            node["name"],
            node["zone"],
            node["rack"],
            tuple(_share(node["resources"].get(name), side) for name in names for side in sides),
            () if node["takesPods"] else ("cordoned",),
        )
        for node in nodes
    ]
    views = tuple(f"{name} {side}" for name in names for side in sides)
    return NodeMap("Map of the nodes", views, shown, "By zone and rack; how full each node is.")


def _share(resource: Mapping[str, float] | None, side: str) -> float | None:
    if resource is None or not resource["allocatable"]:
        return None
    return resource[side] / resource["allocatable"]


def _workloads(classes: Sequence[Mapping[str, Any]]) -> DataTable:
    columns = [
        Column("workload"),
        Column("priority", "number"),
        Column("pods", "number"),
        *(Column(name, "number") for name in _CHANGES.values()),
        Column("moved indirectly", "number"),
    ]
    rows = [
        (
            each["workload"],
            each["priority"],
            each["pods"],
            *(each[key] for key in _CHANGES),
            each["movedIndirectly"],
        )
        for each in classes
    ]
    return DataTable("Pods by workload and priority", columns, rows)


def _changes(inputs: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    columns = [
        Column("pod"),
        Column("change"),
        Column("cause"),
        Column("old"),
        Column("new"),
        Column("why"),
        Column("input"),
    ]
    rows = [
        (
            change["pod"],
            change["change"],
            change["cause"],
            change["old"],
            change["new"],
            " ".join(filter(None, (change.get("rule"), change.get("message")))),
            each["name"],
        )
        for each in inputs
        for change in each["changes"]
    ]
    if rows:
        yield DataTable("Changes", columns, rows)


def _not_measured(inputs: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    rows = [
        (
            each["name"],
            ", ".join(each["notMeasured"]),
            f"kpolicy simulate --scenario {each['name']} --policy POLICY",
        )
        for each in inputs
        if each["notMeasured"]
    ]
    if rows:
        columns = [Column("journal"), Column("figures"), Column("what measures them")]
        about = "The pods of a journal stay where they were."
        yield DataTable("What the plan does not measure", columns, rows, about)


def _problems(inputs: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    rows = [
        (each["name"], problem["code"], problem["message"])
        for each in inputs
        for problem in each["problems"]
    ]
    if rows:
        yield DataTable("Problems", [Column("input"), Column("code"), Column("message")], rows)
