"""The page of `simulate` where it places the pending pods once: where they go, why others stay
pending, and how full the nodes become.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.limits import PAGE_BARS_MAX
from kpolicy.offline.pages.bar_chart import Bars, BarSeries, bars_by_side
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.move_chart import Move, Moves
from kpolicy.offline.pages.node_map import MapNode, NodeMap
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section
from kpolicy.offline.pages.shown_cluster import ShownCluster

_NAMED: Final = {"placed": "placed", "pending": "still pending", "notServed": "not served"}


def simulate_page(
    document: Mapping[str, Any], cluster: ShownCluster | None = None, about: str = ""
) -> str:
    """`document` is what `kpolicy simulate --output json` prints; `cluster` gives it a map."""
    pods: Sequence[Mapping[str, Any]] = document["pods"]
    summary: Mapping[str, Any] = document["summary"]
    sections = [
        Section("How full the nodes become", list(_fullness(pods, summary, cluster))),
        Section("Where pods go", list(_moves(pods, cluster))),
        Section("Why pods stay pending", list(_pending(summary))),
        Section("Pods", [_table(pods)]),
    ]
    figures = [Figure("pods", f"{summary['pods']:,}")]
    figures += [Figure(name, f"{summary[key]:,}") for key, name in _NAMED.items()]
    figures.append(Figure("nodes", f"{summary['nodes']:,}"))
    shown = [section for section in sections if section.parts]
    return Page("Pending pods, placed", shown, figures, about).html()


def _fullness(
    pods: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], cluster: ShownCluster | None
) -> Iterator[Part]:
    yield from fullness_bars(summary["utilisation"], ("before", "after"))
    if cluster is None or not cluster.nodes:
        return
    after = cluster.with_placed({pod["pod"]: pod["node"] for pod in pods if "node" in pod})
    resources = after.resources()
    nodes = [
        MapNode(
            name,
            node.zone,
            node.rack,
            tuple(
                each.fullness(resource)
                for resource in resources
                for each in (after.nodes[name], node)
            ),
        )
        for name, node in cluster.nodes.items()
    ]
    views = tuple(f"{name} {when}" for name in resources for when in ("after", "before"))
    about = "By zone and rack; what pods ask for, as a share of what the node has."
    yield NodeMap("Map of the nodes", views, nodes, about)


def fullness_bars(
    used: Mapping[str, Mapping[str, int | float]], sides: Sequence[str]
) -> Iterator[Part]:
    """Of each resource that is asked for, the share of what nodes have; `sides` are its names in
    `used`."""
    shares = {
        name: {side: each[side] / each["allocatable"] for side in sides}
        for name, each in used.items()
        if each["allocatable"] and any(each[side] for side in sides)
    }
    if shares:
        about = "What pods ask for, as a share of what nodes have."
        yield bars_by_side("Use of each resource", shares, sides, about, "percent")


def _moves(pods: Sequence[Mapping[str, Any]], cluster: ShownCluster | None) -> Iterator[Part]:
    placed = [pod for pod in pods if "node" in pod]
    moves = [
        Move(_workload(pod["pod"], cluster), _place(pod["node"], cluster), 1) for pod in placed
    ]
    if moves:
        about = "From workloads to zones; to nodes, where nodes have no zone."
        yield Moves("Who goes where", moves, about)


def _workload(pod: str, cluster: ShownCluster | None) -> str:
    known = cluster.waiting.get(pod) if cluster is not None else None
    return known.workload if known is not None else pod


def _place(node: str, cluster: ShownCluster | None) -> str:
    return cluster.place_of(node) if cluster is not None else node


def _pending(summary: Mapping[str, Any]) -> Iterator[Part]:
    rules = list(summary["byRule"].items())[:PAGE_BARS_MAX]
    if rules:
        series = [BarSeries("pods", [count for _, count in rules])]
        about = "Pods that each rule keeps from some node; a pod may be kept by several."
        yield Bars("Pending pods by rule", [rule for rule, _ in rules], series, about)
    reasons = [(count, why) for why, count in summary["byReason"].items()]
    if reasons:
        columns = [Column("pods", "number"), Column("message")]
        yield DataTable("Pending pods by message", columns, reasons)


def _table(pods: Sequence[Mapping[str, Any]]) -> DataTable:
    columns = [Column("pod"), Column("node"), Column("message"), Column("nominated node")]
    rows = [
        (
            pod["pod"],
            pod.get("node", ""),
            pod.get("message", ""),
            pod.get("nominatedNode", ""),
        )
        for pod in pods
    ]
    return DataTable("Each pod, in the order of the queue", columns, rows)
