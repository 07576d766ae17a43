"""The demo's objects: the same for the same seed, of every kind, and as many as asked for."""

from __future__ import annotations

import pytest

from kpolicy.demo import demo_cluster
from kpolicy.offline.snapshots.inventory import quantity, requested


@pytest.mark.parametrize("count", [20, 300, 1001])
def test_there_are_as_many_nodes_as_asked_for_and_some_of_every_pool(count: int) -> None:
    nodes = list(demo_cluster.nodes(count))
    assert len(nodes) == count
    assert {node["metadata"]["labels"]["pool"] for node in nodes} == {
        pool.name for pool in demo_cluster.POOLS
    }


def test_pods_are_the_same_for_the_same_seed_and_shuffled_by_it() -> None:
    assert demo_cluster.pods(500, seed=1) == demo_cluster.pods(500, seed=1)
    assert demo_cluster.pods(500, seed=1) != demo_cluster.pods(500, seed=2)
    names = {pod["metadata"]["name"] for pod in demo_cluster.pods(500, seed=1)}
    assert len(names) == 500


def test_the_tally_counts_what_the_api_says() -> None:
    nodes = list(demo_cluster.nodes(20))
    placed, parked, new = demo_cluster.pods(500, seed=1)[:3]
    placed["spec"]["nodeName"] = nodes[0]["metadata"]["name"]
    parked["status"] = {
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "why"}
        ]
    }
    counted = demo_cluster.take([placed, parked, new], nodes)
    assert (counted.placed, counted.pending) == (1, 2)
    assert counted.pending_by_reason == {"why": 1, "not tried yet": 1}
    assert counted.placed_by_pool == {"general": 1}
    asked = requested(placed)
    whole = sum(
        quantity(node["status"]["allocatable"]["cpu"])
        for node in nodes
        if not node["spec"].get("unschedulable")
    )
    assert counted.utilisation["cpu"] == pytest.approx(float(asked["cpu"] / whole))


@pytest.mark.parametrize(
    ("text", "units"), [("250m", 0.25), ("4", 4.0), ("64Gi", 64 * 2**30), ("256Mi", 256 * 2**20)]
)
def test_quantities(text: str, units: float) -> None:
    assert quantity(text) == units


def test_messages_that_differ_only_in_counts_are_one_reason() -> None:
    message = "0/9 nodes are available: 3 Insufficient cpu, 6 node(s) had untolerated taint(s). no"
    assert (
        demo_cluster.without_counts(message) == "Insufficient cpu, node(s) had untolerated taint(s)"
    )
    assert demo_cluster.without_counts("no nodes available") == "no nodes available"
