"""How full nodes are, what of their free room no usual pod can use, and which are in use."""

from __future__ import annotations

import pytest

from kpolicy import Snapshot
from kpolicy.offline.plan.node_figures import NodeFigures, node_figures
from kpolicy.offline.plan.node_measures import Triple, merged
from kpolicy.offline.plan.plan_cluster import PlanCluster
from kpolicy.testing import node, pod

ZONE = "topology.kubernetes.io/zone"


def figures(
    objects: list[dict[str, object]], placed: dict[str, tuple[str, str]], **columns: float
) -> NodeFigures:
    snapshot, cluster = Snapshot.of(objects), PlanCluster()
    held = snapshot.walk(cluster.see)
    uid_of = {entry.key: entry.uid for entry in held.pods()}
    placements = [(uid_of[f"default/{name}"], *nodes) for name, nodes in placed.items()]
    return node_figures(cluster, held, placements, columns={"cost": columns} if columns else {})


def test_free_room_where_usual_pods_do_not_fit_is_stranded() -> None:
    """Two cpu are free on each node under the old policy; under the new one they are on one."""
    objects = [node("n1", cpu="4"), node("n2", cpu="4")]
    objects += [pod(name, cpu="2") for name in ("a", "b")]
    objects += [pod(name, cpu="3", node_name="") for name in ("c", "d", "e")]
    old_new = {"a": ("n1", "n1"), "b": ("n2", "n1")}
    cpu = figures(objects, {**old_new, "c": ("", ""), "d": ("", ""), "e": ("", "")})
    use = cpu.measures.resources["cpu"]
    assert use.fullness == Triple(0, 0.5, 0.5)
    assert use.free == Triple(8, 4, 4)
    assert use.fragmentation == Triple(0, 0.6, 0), "three of five pods ask for 3"


def test_room_that_is_stranded_for_want_of_another_resource() -> None:
    objects = [
        node("n1", cpu="4", memory="4Gi"),
        node("n2", cpu="4", memory="4Gi", unschedulable=True),
        pod("there", cpu="1", memory="4Gi", node_name="n1"),
    ]
    use = figures(objects, {}).measures.resources["cpu"]
    assert (use.free.before, use.stranded.before) == (3, 3), "the cordoned node has no free room"


def test_nodes_in_use_are_those_with_pods_of_their_own() -> None:
    daemon = pod("agent", node_name="n3")
    daemon["metadata"]["ownerReferences"] = [
        {"kind": "DaemonSet", "name": "agent", "controller": True}
    ]
    objects = [
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        node("n3", labels={ZONE: "b", "example.com/rack": "r7"}),
        pod("there", node_name="n1"),
        pod("new"),
        daemon,
    ]
    found = figures(objects, {"new": ("n2", "n1")}, n1=3.5, n2=2)
    measures = found.measures
    assert measures.in_use == Triple(1, 2, 1)
    assert measures.columns["cost"].total == Triple(3.5, 5.5, 3.5)
    assert measures.spread[ZONE] == {"a": Triple(1, 1, 2), "b": Triple(1, 2, 1)}
    assert measures.skew[ZONE] == Triple(0, 1, 1)
    third = found.nodes[2]
    assert (third.name, third.zone, third.rack, third.columns) == ("n3", "b", "r7", {})
    assert found.nodes[0].used["pods"] == Triple(1, 1, 2)


def test_figures_of_several_clusters_are_added() -> None:
    first = figures([node("n1", cpu="4"), pod("a", cpu="1")], {"a": ("n1", "n1")}, n1=2)
    zoned = node("n1", cpu="4", labels={ZONE: "a"})
    second = figures([zoned, pod("a", cpu="1")], {"a": ("n1", "")})
    total = merged([first.measures, second.measures])
    assert total.nodes == 2
    assert total.resources["cpu"].used == Triple(0, 2, 1)
    assert total.resources["cpu"].fullness.new == pytest.approx(1 / 8)
    assert total.in_use == Triple(0, 2, 1)
    assert total.columns["cost"].total.old == 2
    assert total.skew == {ZONE: Triple(0, 0, 0)}
