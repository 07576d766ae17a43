"""The pages of `why`: what would place a pod, or what decided where it is; and the reasons of a
namespace or a group, summed up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kpolicy.offline.pages.advice_charts import nearest, runners_up, suggestions
from kpolicy.offline.pages.bar_chart import Bars, BarSeries
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.explained_pod import explained_map, explained_parts
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section
from kpolicy.offline.pages.shown_cluster import ShownCluster
from kpolicy.offline.reports.advice_text import SITUATIONS, changes_text

Document = Mapping[str, Any]


def why_page(document: Document, cluster: ShownCluster | None = None, about: str = "") -> str:
    """`document` is what `kpolicy why POD --output json` prints; `cluster` gives it a map."""
    advice, explanation = document.get("advice", {}), document["explanation"]
    is_explained = "nodes" in explanation
    sections = [
        Section("What holds it", list(_held(document))),
        Section("What would place it", [*suggestions(advice), *nearest(advice)]),
        Section("What decided", list(runners_up(advice))),
    ]
    if cluster is not None and cluster.nodes and is_explained:
        sections.append(Section("Nodes", [explained_map(cluster, [explanation])]))
    judged = list(explained_parts(explanation)) if is_explained else []
    if "condition" in document:
        judged.append(f"Its scheduler wrote last: {document['condition']}")
    sections.append(Section("How each node was judged", judged))
    shown = [section for section in sections if section.parts]
    title = f"Why {document['pod']} is {'where it is' if 'node' in document else 'pending'}"
    return Page(title, shown, list(_figures(document)), about).html()


def _held(document: Document) -> Iterator[Part]:
    """Why no node is looked at."""
    advice = document.get("advice", {})
    if "heldBy" in advice:
        yield f"{advice['heldBy']['reason']} ({advice['heldBy']['rule']})"
    elif "nodes" not in document["explanation"]:
        yield str(advice.get("message") or document["explanation"].get("message") or "No node.")


def _figures(document: Document) -> Iterator[Figure]:
    advice, nodes = document.get("advice", {}), document["explanation"].get("nodes", ())
    yield Figure("situation", document["situation"])
    if "node" in document:
        yield Figure("node", document["node"])
    yield Figure("nodes", f"{len(nodes):,}")
    yield Figure("take it", f"{sum('total' in node for node in nodes):,}")
    if "suggestions" in advice:
        yield Figure("changes that would place it", f"{len(advice['suggestions']):,}")


def why_all_page(document: Document, about: str = "") -> str:
    """`document` is what `kpolicy why --namespace NS --output json` prints."""
    sections = [
        Section("Why pods are pending", list(_reasons(document))),
        Section("What would place them", list(_changes(document))),
        Section("Pending pods", list(_pods(document))),
    ]
    figures = [
        Figure("pods", f"{document['pods']:,}"),
        Figure("on nodes", f"{document['pods'] - document['pending']:,}"),
        Figure("pending", f"{document['pending']:,}"),
    ]
    if document["leftOut"]:
        figures.append(Figure("without advice", f"{document['leftOut']:,}"))
    group = f"the group {document['group']} of " if "group" in document else ""
    title = f"Pending pods of {group}the namespace {document['namespace']}"
    shown = [section for section in sections if section.parts]
    return Page(title, shown, figures, about).html()


def _reasons(document: Document) -> Iterator[Part]:
    if not document["pending"]:
        yield "No pod is pending."
    yield from _counts(
        "Pending pods by situation",
        {SITUATIONS.get(name, name): pods for name, pods in document["situations"].items()},
    )
    about = "How many pending pods each rule keeps from some node; a pod may be kept by several."
    yield from _counts("Pending pods by rule", document["rejectedBy"], about)


def _changes(document: Document) -> Iterator[Part]:
    kinds = {f"{each['of']}: {each['kind']}": each["pods"] for each in document["suggestions"]}
    about = "How many pods one change of this kind would place, each pod by itself."
    yield from _counts("Pods by kind of change", kinds, about)


def _counts(title: str, counts: Mapping[str, int], about: str = "") -> Iterator[Part]:
    if counts:
        yield Bars(title, list(counts), [BarSeries("pods", list(counts.values()))], about)


def _pods(document: Document) -> Iterator[Part]:
    rows = []
    for each in document["advice"]:
        smallest = next(iter(each.get("suggestions", ())), None)
        change, node = (changes_text(smallest), smallest["node"]) if smallest else ("", "")
        rows.append(
            (
                len(each["pods"]),
                each["pods"][0],
                SITUATIONS.get(each["situation"], each["situation"]),
                ", ".join(each.get("rejectedBy", ())),
                change,
                node or each.get("node") or "",
            )
        )
    if rows:
        columns = [
            Column("pods alike", "number"),
            Column("one of them"),
            Column("situation"),
            Column("kept from nodes by"),
            Column("smallest change"),
            Column("then placed on"),
        ]
        about = "`kpolicy why POD --html FILE` shows one of them in full."
        yield DataTable("Pending pods, those alike together", columns, rows, about)
