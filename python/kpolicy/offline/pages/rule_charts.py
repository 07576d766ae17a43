"""What rules make of the nodes for one pod: a map of nodes by rules, and bars of scores.

Nodes of which all rules say the same are one row: a cluster of thousands has few kinds of nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.offline.limits import (
    PAGE_BARS_MAX,
    PAGE_KINDS_MAX,
    PAGE_NAMES_MAX,
    PAGE_SERIES_MAX,
)
from kpolicy.offline.pages.bar_chart import Bars, BarSeries
from kpolicy.offline.pages.chart import ALSO_REJECTED, REJECTED, share_between
from kpolicy.offline.pages.heat_map import Cell, HeatMap, Row
from kpolicy.offline.pages.page_frame import Part
from kpolicy.offline.reports.columns import counted, largest_first, listed

Explanation = Mapping[str, Any]
Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes of which all rules say the same: `scores` by rule, or `reasons` by the rules that
    reject, of which `first` is the one that counts."""

    names: Sequence[str]
    total: int | None
    scores: Mapping[str, int]
    first: str
    reasons: Mapping[str, str]


def node_kinds(nodes: Sequence[Node]) -> list[NodeKind]:
    """The best first; then those that are rejected, the largest kind first."""
    groups: dict[tuple[Any, ...], list[Node]] = defaultdict(list)
    for node in nodes:
        scores = tuple(sorted(node.get("weighted", {}).items())) if "total" in node else ()
        statuses = tuple((rule, why) for rule, why in _reasons(node).items())
        if scores or statuses or "total" in node:
            groups[node.get("total"), scores, statuses].append(node)
    kinds = [
        NodeKind(
            [node["name"] for node in group],
            total,
            dict(scores),
            statuses[0][0] if statuses else "",
            dict(statuses),
        )
        for (total, scores, statuses), group in groups.items()
    ]
    return sorted(kinds, key=_order)


def _order(kind: NodeKind) -> tuple[bool, int, int, str]:
    return kind.total is None, -(kind.total or 0), -len(kind.names), kind.names[0]


def _reasons(node: Node) -> dict[str, str]:
    """By rule, the first that rejects first."""
    if "filter" not in node:
        return {}
    found: dict[str, str] = {}
    for status in (node["filter"], *node.get("allFilters", ())):
        found.setdefault(status["plugin"], ", ".join(status["reasons"]))
    return found


def rules_map(explained: Explanation) -> Iterator[Part]:
    kinds = node_kinds(explained["nodes"])
    shown = kinds[:PAGE_KINDS_MAX]
    columns = _columns(shown)
    if not shown or not columns:
        return
    spans = {rule: _span(shown, rule) for rule in columns}
    cells = [
        cell
        for row, kind in enumerate(shown)
        for column, rule in enumerate(columns)
        if (cell := _cell(kind, rule, row, column, spans[rule])) is not None
    ]
    about = (
        "A row is a kind of nodes, of which all rules say the same. Numbers are weighted scores; "
        "their shades compare the nodes for one rule, from the lowest to the highest."
    )
    if len(kinds) > len(shown):
        left = sum(len(kind.names) for kind in kinds[PAGE_KINDS_MAX:])
        about += (
            f" The first {len(shown):,} of {len(kinds):,} kinds; "
            f"{counted(left, 'node')} are left out."
        )
    rows = [_row(kind, explained.get("selected")) for kind in shown]
    yield HeatMap("Nodes by rules", rows, columns, cells, about)


def _columns(kinds: Sequence[NodeKind]) -> list[str]:
    """Rules that reject, then rules that score."""
    rejecting: Counter[str] = Counter()
    for kind in kinds:
        for rule in kind.reasons:
            rejecting[rule] += len(kind.names)
    scoring = Counter(
        {
            rule: max(abs(kind.scores.get(rule, 0)) for kind in kinds)
            for rule in {rule for kind in kinds for rule in kind.scores}
        }
    )
    order = [rule for rule, _ in largest_first(rejecting)]
    order += [rule for rule, score in largest_first(scoring) if score]
    return list(dict.fromkeys(order))


def _span(kinds: Sequence[NodeKind], rule: str) -> tuple[int, int]:
    """The lowest and the highest score."""
    scores = [kind.scores[rule] for kind in kinds if rule in kind.scores]
    return min(scores, default=0), max(scores, default=0)


def _cell(kind: NodeKind, rule: str, row: int, column: int, span: tuple[int, int]) -> Cell | None:
    if rule in kind.reasons:
        fill = REJECTED if rule == kind.first else ALSO_REJECTED
        return Cell(row, column, fill, "×", f"rejects: {kind.reasons[rule]}")
    if rule in kind.scores:
        score = kind.scores[rule]
        return Cell(row, column, share_between(score, span), f"{score:,}")
    return None


def _row(kind: NodeKind, selected: str | None) -> Row:
    names = list(kind.names)
    if selected in names:
        names.insert(0, names.pop(names.index(selected)))
    more = f" +{len(names) - 1:,}" if len(names) > 1 else ""
    total = f": {kind.total:,}" if kind.total is not None else ""
    return Row(f"{names[0]}{more}", f"{listed(names, PAGE_NAMES_MAX)}{total}")


def score_bars(explained: Explanation) -> Iterator[Part]:
    scored = [node for node in explained["nodes"] if "total" in node]
    scored.sort(key=lambda node: (-node["total"], node["name"]))
    shown = scored[:PAGE_BARS_MAX]
    selected = explained.get("selected")
    if selected not in {node["name"] for node in shown}:
        shown += [node for node in scored if node["name"] == selected]
    sums: Counter[str] = Counter()
    for node in shown:
        sums.update({rule: abs(score) for rule, score in node["weighted"].items()})
    order = [rule for rule, total in largest_first(sums) if total]
    if not order:
        return
    series = [
        BarSeries(rule, [node["weighted"].get(rule, 0) for node in shown])
        for rule in order[:PAGE_SERIES_MAX]
    ]
    if rest := order[PAGE_SERIES_MAX:]:
        values = [sum(node["weighted"].get(rule, 0) for rule in rest) for node in shown]
        series.append(BarSeries(f"{len(rest)} further rules", values))
    names = [
        f"{node['name']} (selected)" if node["name"] == selected else str(node["name"])
        for node in shown
    ]
    of = f", the best of {len(scored):,}" if len(shown) < len(scored) else ""
    title = f"Scores of {counted(len(shown), 'node')}{of}"
    yield Bars(title, names, series, "Weighted scores, one rule on the other.", is_stacked=True)
