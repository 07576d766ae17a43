"""Parts of a page about an explained pod: how each node was judged, on a map and by rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kpolicy.offline.limits import PAGE_NAMES_MAX
from kpolicy.offline.pages.chart import REJECTED, Fill, share_between
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.node_map import MapNode, NodeMap
from kpolicy.offline.pages.page_frame import Part
from kpolicy.offline.pages.rule_charts import rules_map, score_bars
from kpolicy.offline.pages.shown_cluster import ShownCluster
from kpolicy.offline.reports.columns import listed
from kpolicy.offline.reports.devices_text import (
    chosen_devices,
    claims_elsewhere,
    device_supplies,
    together_text,
)
from kpolicy.offline.reports.explanation_text import verdict

Explanation = Mapping[str, Any]


def explained_map(cluster: ShownCluster, full: Sequence[Explanation]) -> NodeMap:
    resources = cluster.resources()
    scores = [_scores(each) for each in full]
    nodes = [
        MapNode(
            node.name,
            node.zone,
            node.rack,
            (
                *(each.get(node.name) for each in scores),
                *(node.fullness(resource) for resource in resources),
            ),
        )
        for node in cluster.nodes.values()
    ]
    of_pods = (f"scores of {each['pod']}" for each in full)
    views = (*of_pods, *(f"{name} in use" for name in resources))
    about = "By zone and rack. Scores are shown from the lowest, 0%, to the highest, 100%."
    return NodeMap("Map of the nodes", views, nodes, about)


def _scores(explained: Explanation) -> dict[str, Fill]:
    nodes = explained["nodes"]
    totals = [node["total"] for node in nodes if "total" in node]
    span = min(totals, default=0), max(totals, default=0)
    found: dict[str, Fill] = {}
    for node in nodes:
        if "total" in node:
            # Where all are equal, each is the best.
            found[node["name"]] = share_between(node["total"], span) if span[0] < span[1] else 1.0
        elif "filter" in node:
            found[node["name"]] = REJECTED
    return found


def explained_parts(explained: Explanation) -> Iterator[Part]:
    """Of an explanation that has nodes."""
    yield verdict(explained)
    if explained.get("message"):
        yield str(explained["message"])
    for stage in ("preEnqueue", "preFilter"):
        if stage in explained:
            status = explained[stage]
            why = f"{', '.join(status['reasons'])} ({status['plugin']})"
            yield f"Before any node was checked: {why}"
    yield from rules_map(explained)
    yield from score_bars(explained)
    yield from _rejections(explained["nodes"])
    yield from _devices(explained)
    yield from _errors(explained["nodes"])
    yield from _preemption(explained.get("preemption") or {})
    yield from _waits(explained.get("waitsFor", ()))


def _rejections(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in nodes:
        if "filter" in node:
            status = node["filter"]
            names[status["plugin"], ", ".join(status["reasons"])].append(node["name"])
    rows = [
        (len(each), rule, why, listed(each, PAGE_NAMES_MAX))
        for (rule, why), each in sorted(names.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    columns = [Column("nodes", "number"), Column("rule"), Column("reason"), Column("names")]
    if rows:
        yield DataTable("Rejected nodes, by the first rule that rejects", columns, rows)


def _devices(explained: Explanation) -> Iterator[Part]:
    if chosen := chosen_devices(explained):
        title = f"Devices that {explained['selected']} would give"
        yield DataTable(title, [Column("request"), Column("device")], chosen)
    if elsewhere := claims_elsewhere(explained):
        yield f"Claims whose devices are on other nodes: {listed(elsewhere, PAGE_NAMES_MAX)}"
    yield from _lacking(explained["nodes"])


def _lacking(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    rows = [
        (
            each.request,
            each.wanted,
            each.most_free,
            each.seen,
            each.accepted,
            each.others,
        )
        for each in device_supplies(nodes)
    ]
    columns = [
        Column("request"),
        Column("wants"),
        Column("free", "number"),
        Column("seen", "number"),
        Column("accepted", "number"),
        Column("not free"),
    ]
    if rows:
        about = "Free is the most that one of these nodes has. Other numbers are sums."
        together = together_text(nodes)
        more = f" {together}." if together else ""
        yield DataTable("Devices of nodes that have too few", columns, rows, about + more)


def _errors(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in nodes:
        for error in node.get("errors", ()):
            names[error["rule"], f"{error['message']} ({error['code']})"].append(node["name"])
    rows = [
        (rule, why, listed(each, PAGE_NAMES_MAX)) for (rule, why), each in sorted(names.items())
    ]
    if rows:
        columns = [Column("rule"), Column("error"), Column("nodes that it gave 0")]
        yield DataTable("Rules that could not be evaluated", columns, rows)


def _preemption(preemption: Mapping[str, Any]) -> Iterator[Part]:
    if preemption.get("node"):
        yield f"Preemption would make room on {preemption['node']}."
    if preemption.get("message"):
        yield f"Preemption: {preemption['message']}"
    budgets = preemption.get("pdbViolations", {})
    rows = [
        (node, len(victims), listed(victims, PAGE_NAMES_MAX), budgets.get(node, 0))
        for node, victims in sorted(preemption.get("candidates", {}).items())
    ]
    columns = [
        Column("node"),
        Column("pods", "number"),
        Column("would be evicted"),
        Column("against disruption budgets", "number"),
    ]
    if rows:
        yield DataTable("What preemption could do", columns, rows)


def _waits(waits: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    rows = [
        (words, str(rule.get("plugin") or ""), str(rule.get("at", "")))
        for rule in waits
        for words in rule["words"]
    ]
    if rows:
        columns = [Column("tried again when"), Column("because of"), Column("at")]
        yield DataTable("What the pod waits for", columns, rows)
