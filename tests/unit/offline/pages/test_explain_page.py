"""The page of explain where there is less than usual: many pods in brief, and no cluster."""

from __future__ import annotations

from kpolicy.offline.pages.explain_page import explain_page
from kpolicy.offline.pages.shown_cluster import shown_cluster
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.testing import node
from tests.unit.offline.pages.page_reading import data_of

BRIEF = [
    {"pod": f"default/web-{at}", "counts": {"nodes": 3, "feasible": 2, "best": 1}, "selected": "n1"}
    for at in range(30)
]
SCORED = {
    "pod": "default/web",
    "nodes": [
        {"name": "n1", "weighted": {"fit": 40}, "total": 40},
        {"name": "n2", "weighted": {"fit": 60}, "total": 60},
        {"name": "n3", "filter": {"plugin": "Fit", "code": "Unschedulable", "reasons": ["full"]}},
    ],
    "selected": "n2",
}


def test_many_pods_in_brief_are_a_table() -> None:
    data = data_of(page := explain_page({"explanations": BRIEF}))
    assert data["charts"] == {}
    (table,) = data["tables"].values()
    assert len(table["rows"]) == 30
    assert table["rows"][0] == ["default/web-0", "n1", 2, ""]
    assert "--pod NS/NAME --html FILE" in page


def test_without_a_cluster_there_is_no_map_of_its_nodes() -> None:
    charts = data_of(explain_page({"explanations": [SCORED]}))["charts"].values()
    assert [chart["title"] for chart in charts] == ["Nodes by rules", "Scores of 2 nodes"]


def test_the_map_shows_scores_from_the_lowest_to_the_highest_and_rejections() -> None:
    nodes = [node(name, cpu="4") for name in ("n1", "n2", "n3", "unknown")]
    page = explain_page({"explanations": [SCORED]}, shown_cluster(Snapshot.of(nodes)))
    chart = data_of(page)["charts"]["chart-0"]
    assert chart["views"][0] == "scores of default/web"
    (zone,) = chart["option"]["series"][0]["data"]
    fills = {each["name"]: each["fills"][0] for each in zone["children"]}
    assert fills == {"n1": 0, "n2": 1, "n3": -1, "unknown": None}
