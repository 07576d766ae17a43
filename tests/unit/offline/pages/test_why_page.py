"""The pages of why: suggestions in order, the nearest nodes by rules, runners-up, and sums."""

from __future__ import annotations

from typing import Any

from kpolicy.cli.advised_cluster import AdvisedCluster, of_snapshot
from kpolicy.offline.answers.advice import Scope
from kpolicy.offline.pages.why_page import why_all_page, why_page
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, default_program
from kpolicy.testing import node, pod
from tests.unit.offline.answers.test_pod_decisions_devices import (
    CLASS,
    DRIVER,
    asked,
    asking,
    claim,
    node_with,
)
from tests.unit.offline.pages.page_reading import chart, data_of, rows


def cluster(*more: dict[str, Any]) -> AdvisedCluster:
    """A pod that fits nowhere, one that fits, and one on a node."""
    search = pod("search", "shop", cpu="6")
    search["spec"]["nodeSelector"] = {"disk": "ssd"}
    objects = [
        node("n1", cpu="4", labels={"disk": "ssd"}),
        node("n2", cpu="8"),
        search,
        pod("new", "shop", cpu="1"),
        pod("cart", "shop", cpu="1", node_name="n2"),
    ]
    return of_snapshot(Snapshot.of([*objects, *more]), default_program(), "a test")


def titles(page: str) -> list[str]:
    data = data_of(page)
    return [each["title"] for part in ("charts", "tables") for each in data[part].values()]


def test_what_would_place_a_pending_pod_is_ranked() -> None:
    page = why_page(cluster().why("shop/search").line())
    shown = rows(page, "What would place the pod")
    assert [row[0] for row in shown] == list(range(1, len(shown) + 1))
    assert ["drop disk=ssd from spec.nodeSelector", "pod", "n2", 1] in [row[1:] for row in shown]
    sizes = [row[4] for row in shown]
    assert sizes == sorted(sizes)


def test_the_nearest_nodes_are_shown_by_the_rules_that_reject_them() -> None:
    page = why_page(cluster().why("shop/search").line())
    reasons = {tuple(row[1:3]): row[3] for row in rows(page, "What keeps the pod off them")}
    assert reasons["n1", "NodeResourcesFit"] == "Insufficient cpu (4 of 6 cpu free)"
    assert ("n2", "NodeAffinity") in reasons
    option = chart(page, "Nodes nearest to taking the pod")["option"]
    assert "rejects: Insufficient cpu (4 of 6 cpu free)" in str(option)
    assert "Nodes by rules" in titles(page)


def test_devices_of_nodes_that_have_too_few_are_a_table() -> None:
    items = [*node_with("n", 1, 1), CLASS, claim("c", asked(3)), asking("p", "c")]
    lacking = of_snapshot(Snapshot.of(items), default_program(), "a test")
    [row] = rows(why_page(lacking.why("default/p").line()), "Devices of nodes that have too few")
    assert row == ["default/c, request g", "3", 2, 2, 2, ""]


def test_devices_that_the_chosen_node_would_give_are_a_table() -> None:
    items = [*node_with("n", 1, 1), CLASS, claim("c", asked(2)), asking("p", "c")]
    page = why_page(
        of_snapshot(Snapshot.of(items), default_program(), "a test").why("default/p").line()
    )
    assert rows(page, "Devices that n would give") == [
        ["default/c, request g", f"{DRIVER}/n/d0"],
        ["default/c, request g", f"{DRIVER}/n/d1"],
    ]


def test_a_search_without_a_result_is_told_in_words() -> None:
    document = cluster().why("shop/search").line()
    document["advice"] |= {"suggestions": [], "isComplete": False, "decisions": 150}
    page = why_page(document)
    assert "No small change of the pod, of a node or of the policy would place it." in page
    assert "The search ended after 150 decisions." in page
    assert "What would place the pod" not in titles(page)


def test_a_placed_pod_is_shown_beside_the_best_others() -> None:
    page = why_page(cluster(node("n3", cpu="2")).why("shop/cart").line())
    others = rows(page, "The best other nodes")
    assert {row[0] for row in others} == {"n1", "n3"}
    assert all(row[2].endswith(("ahead", "behind", "equal")) for row in others)
    bars = chart(page, "What puts n2 before other nodes")["option"]
    assert bars["yAxis"]["data"] == [row[0] for row in others]
    by_rule = {each["name"]: each["data"] for each in bars["series"]}
    for at, row in enumerate(others):
        drawn = {rule: values[at] for rule, values in by_rule.items() if values[at]}
        assert ", ".join(f"{rule} {by:+,}" for rule, by in drawn.items()) in row[3]
    assert "What would place the pod" not in titles(page)
    assert any(title.startswith("Scores of 3 nodes") for title in titles(page))


def test_a_namespace_is_summed_up() -> None:
    sums = cluster(pod("new-1", "shop", cpu="1")).sums(Scope("shop"))
    page = why_all_page(sums.line())
    bars = chart(page, "Pending pods by situation")["option"]
    assert bars["yAxis"]["data"] == ["would fit now", "fit nowhere"]
    assert bars["series"][0]["data"] == [2, 1]
    by_rule = chart(page, "Pending pods by rule")["option"]
    assert by_rule["yAxis"]["data"] == ["NodeAffinity", "NodeResourcesFit"]
    assert "pod: nodeSelector" in chart(page, "Pods by kind of change")["option"]["yAxis"]["data"]
    alike = rows(page, "Pending pods, those alike together")
    assert [row[:2] for row in alike] == [[2, "shop/new"], [1, "shop/search"]]


def test_a_namespace_without_pending_pods_says_so() -> None:
    page = why_all_page(cluster().sums(Scope("other")).line())
    assert "No pod is pending." in page
    assert data_of(page)["charts"] == {}
