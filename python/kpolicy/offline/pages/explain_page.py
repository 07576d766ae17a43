"""The page of `explain`: where each pod fits, which rules reject which nodes, and how the other
nodes score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kpolicy.offline.limits import PAGE_PODS_MAX
from kpolicy.offline.pages.data_table import Column, DataTable
from kpolicy.offline.pages.explained_pod import explained_map, explained_parts
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section
from kpolicy.offline.pages.shown_cluster import ShownCluster

Explanation = Mapping[str, Any]


def explain_page(
    document: Mapping[str, Any], cluster: ShownCluster | None = None, about: str = ""
) -> str:
    """`document` is what `kpolicy explain --output json` prints; `cluster` gives it a map."""
    explanations: Sequence[Explanation] = document["explanations"]
    full = [each for each in explanations if "nodes" in each][:PAGE_PODS_MAX]
    sections = []
    if len(explanations) > 1:
        sections.append(Section("Pods", list(_overview(explanations, len(full)))))
    if cluster is not None and cluster.nodes:
        sections.append(Section("Nodes", [explained_map(cluster, full)]))
    sections += [
        Section(str(each["pod"]), list(explained_parts(each)), is_folded=at > 0)
        for at, each in enumerate(full)
    ]
    fit = sum("selected" in each for each in explanations)
    figures = [
        Figure("pods explained", f"{len(explanations):,}"),
        Figure("fit a node", f"{fit:,}"),
        Figure("fit nowhere", f"{len(explanations) - fit:,}"),
        Figure("nodes", f"{_nodes(explanations, cluster):,}"),
    ]
    return Page("Where pods fit", sections, figures, about).html()


def _nodes(explanations: Sequence[Explanation], cluster: ShownCluster | None) -> int:
    if cluster is not None:
        return len(cluster.nodes)
    return max((_judged(each) for each in explanations), default=0)


def _judged(explained: Explanation) -> int:
    counts = explained.get("counts")
    return int(counts["nodes"]) if counts else len(explained.get("nodes", ()))


def _overview(explanations: Sequence[Explanation], full: int) -> Iterator[Part]:
    columns = [Column("pod"), Column("selected"), Column("fits", "number"), Column("message")]
    rows = [
        (
            str(each["pod"]),
            str(each.get("selected", "")),
            _feasible(each),
            str(each.get("message", "")),
        )
        for each in explanations
    ]
    if full < len(explanations):
        shown = f"{full:,} of them have a section below; " if full else ""
        yield f"{shown}`kpolicy explain --pod NS/NAME --html FILE` shows a pod in full."
    yield DataTable("Where each pod fits", columns, rows)


def _feasible(explained: Explanation) -> int:
    counts = explained.get("counts")
    if counts:
        return int(counts["feasible"])
    return sum("total" in node for node in explained.get("nodes", ()))
