"""The nodes that maps show: where they are, and how full, before and after pods are placed."""

from __future__ import annotations

from kpolicy.offline.pages.shown_cluster import shown_cluster
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.testing import node, pod

ZONE = "topology.kubernetes.io/zone"
CLUSTER = [
    node("n1", cpu="4", memory="8Gi", labels={ZONE: "a", "example.com/rack": "r7"}),
    node("n2", cpu="8", memory="8Gi"),
    pod("there", cpu="1", memory="2Gi", node_name="n1"),
    pod("ended", cpu="3", node_name="n1") | {"status": {"phase": "Succeeded"}},
    pod("web", cpu="2", memory="4Gi"),
    {"kind": "Pod", "metadata": {"name": "broken"}, "spec": {"containers": 3}},
]


def test_a_node_has_its_place_and_what_its_pods_ask() -> None:
    cluster = shown_cluster(Snapshot.of(CLUSTER))
    first, second = cluster.nodes["n1"], cluster.nodes["n2"]
    assert (first.zone, first.rack, second.zone, second.rack) == ("a", "r7", "", "")
    assert first.fullness("cpu") == 0.25
    assert first.fullness("example.com/gpu") is None
    assert second.fullness("cpu") == 0
    assert cluster.resources() == ["cpu", "memory", "pods"]
    assert [cluster.place_of(name) for name in ("n1", "n2", "gone")] == ["a", "n2", "gone"]


def test_placed_pods_fill_their_nodes() -> None:
    before = shown_cluster(Snapshot.of(CLUSTER))
    after = before.with_placed({"default/web": "n1", "default/unknown": "n1"})
    assert after.nodes["n1"].fullness("cpu") == 0.75
    assert before.nodes["n1"].fullness("cpu") == 0.25
