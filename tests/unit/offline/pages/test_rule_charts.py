"""Nodes of which all rules say the same are one row, and what does not fit is said."""

from __future__ import annotations

from typing import Any

from kpolicy.offline.limits import PAGE_KINDS_MAX
from kpolicy.offline.pages.bar_chart import Bars
from kpolicy.offline.pages.chart import ALSO_REJECTED, REJECTED
from kpolicy.offline.pages.heat_map import HeatMap
from kpolicy.offline.pages.rule_charts import node_kinds, rules_map, score_bars

FIT = {"plugin": "NodeResourcesFit", "code": "Unschedulable", "reasons": ["Insufficient cpu"]}
TAINT = {"plugin": "TaintToleration", "code": "Unschedulable", "reasons": ["untolerated taint"]}


def scored(name: str, **scores: int) -> dict[str, Any]:
    return {"name": name, "weighted": scores, "total": sum(scores.values())}


NODES = [
    scored("a", spread=10, fit=5),
    scored("b", spread=20, fit=5),
    scored("c", spread=10, fit=5),
    {"name": "d", "filter": FIT, "allFilters": [FIT, TAINT]},
    {"name": "e", "filter": FIT, "allFilters": [FIT]},
    {"name": "f", "filter": FIT, "allFilters": [FIT]},
]
EXPLAINED = {"pod": "default/web", "nodes": NODES, "selected": "c"}


def test_alike_nodes_are_one_kind_the_best_first() -> None:
    kinds = node_kinds(NODES)
    assert [list(kind.names) for kind in kinds] == [["b"], ["a", "c"], ["e", "f"], ["d"]]
    assert [kind.first for kind in kinds] == ["", "", "NodeResourcesFit", "NodeResourcesFit"]
    assert list(kinds[3].reasons) == ["NodeResourcesFit", "TaintToleration"]


def test_the_map_has_a_row_for_each_kind_and_a_column_for_each_rule() -> None:
    (chart,) = rules_map(EXPLAINED)
    assert isinstance(chart, HeatMap)
    assert chart.columns == ["NodeResourcesFit", "TaintToleration", "spread", "fit"]
    # The selected node stands for its kind.
    assert [row.name for row in chart.rows] == ["b", "c +1", "e +1", "d"]
    fills = {(cell.row, cell.column): cell.fill for cell in chart.cells}
    assert fills == {
        (0, 2): 1.0,
        (0, 3): 0.0,
        (1, 2): 0.0,
        (1, 3): 0.0,
        (2, 0): REJECTED,
        (3, 0): REJECTED,
        (3, 1): ALSO_REJECTED,
    }


def test_kinds_beyond_the_limit_are_left_out_and_counted() -> None:
    nodes = [scored(f"n{at:03}", fit=at) for at in range(PAGE_KINDS_MAX + 3)]
    (chart,) = rules_map({"pod": "default/web", "nodes": nodes})
    assert isinstance(chart, HeatMap)
    assert len(chart.rows) == PAGE_KINDS_MAX
    assert chart.about.endswith("of 203 kinds; 3 nodes are left out.")


def test_bars_are_of_the_best_nodes_and_of_the_selected() -> None:
    nodes = [scored(f"n{at:02}", fit=100 - at, idle=0) for at in range(40)]
    (chart,) = score_bars({"pod": "default/web", "nodes": nodes, "selected": "n39"})
    assert isinstance(chart, Bars)
    assert chart.names[0] == "n00"
    assert chart.names[-1] == "n39 (selected)"
    assert [series.name for series in chart.series] == ["fit"]
    assert list(chart.series[0].values) == [*range(100, 80, -1), 61]
