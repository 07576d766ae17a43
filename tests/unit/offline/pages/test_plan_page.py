"""The page of a plan: its figures, the map of its nodes, and its changes."""

from __future__ import annotations

from kpolicy.offline.pages.plan_page import plan_page
from tests.browser.sample_pages import read
from tests.unit.offline.pages.page_reading import chart, rows


def test_nodes_are_as_full_as_the_plan_says() -> None:
    plan = read("plan")
    found = chart(plan_page(plan), "Map of the nodes")
    assert found["views"][:3] == ["cpu new", "cpu old", "cpu before"]
    nodes = {
        node["name"]: node["fills"][:3]
        for zone in found["option"]["series"][0]["data"]
        for node in zone["children"]
    }
    assert nodes["demand-1"] == [1.0, 0.625, 0.625]
    assert len(nodes) == plan["nodeCount"]


def test_each_change_is_a_row_and_each_threshold_too() -> None:
    plan = read("plan")
    plan["thresholds"] = [{"expression": "parked > 0", "isTrue": False}]
    page = plan_page(plan)
    changes = plan["inputs"][0]["changes"]
    assert [row[0] for row in rows(page, "Changes")] == [each["pod"] for each in changes]
    assert rows(page, "What the plan may not do") == [["parked > 0", "no"]]


def test_a_plan_that_changes_nothing_says_so_by_its_figures() -> None:
    plan = read("plan")
    for each in plan["inputs"]:
        each["changes"] = []
    page = plan_page(plan)
    assert "Pods that change" not in page
    assert "kube-scheduler-default → bin-packing" in page
