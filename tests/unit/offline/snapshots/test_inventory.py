"""The inventory of a snapshot: repeated objects count once, and some kinds are left out."""

from __future__ import annotations

from fractions import Fraction

from kpolicy import Snapshot, survey
from kpolicy.offline.snapshots.inventory import State, inventory
from kpolicy.offline.snapshots.snapshot_problem import DUPLICATE
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import Object, cluster


def with_uid(item: Object, uid: str) -> Object:
    item["metadata"]["uid"] = uid
    return item


def test_a_repeated_object_counts_once_and_is_reported_once() -> None:
    first = [node("n", cpu="4"), pod("a", cpu="1"), pod("b", cpu="1")]
    second = [node("n", cpu="8"), pod("a", cpu="2"), pod("b", cpu="2"), pod("c")]
    made = inventory([("1.json", item) for item in first] + [("2.json", item) for item in second])
    assert [(problem.code, str(problem)) for problem in made.problems] == [
        (DUPLICATE, "2.json: Node n: already there, in 1.json; the last is used"),
        (DUPLICATE, "2.json: Pod default/a and 1 more: already there, in 1.json; the last is used"),
    ]
    assert {entry.key: entry.amounts.get("cpu") for entry in made.entries.values()} == {
        "n": Fraction(8),
        "default/a": Fraction(2),
        "default/b": Fraction(2),
        "default/c": None,
    }


def test_pods_of_one_name_and_two_uids_are_two() -> None:
    made = inventory([("", with_uid(pod("a"), "1")), ("", with_uid(pod("a"), "2"))])
    assert len(made.pods()) == 2
    assert str(made.problems[0]) == (
        "Pod default/a: already there, earlier in it with another uid; both are used"
    )


def test_pods_are_distinguished_by_where_they_are() -> None:
    ended = pod("ended", node_name="n")
    ended["status"] = {"phase": "Succeeded"}
    gated = pod("gated", scheduling_gates=["g"])
    made = inventory([("", item) for item in (ended, gated, *cluster())])
    assert {pod.key: pod.state for pod in made.pods()} == {
        "default/ended": State.ENDED,
        "default/gated": State.GATED,
        "default/there": State.ON_NODE,
        "default/fits": State.PENDING,
        "default/giant": State.PENDING,
        "default/others": State.PENDING,
    }


def test_a_survey_adds_up() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    strange = {"kind": "Pod", "metadata": {"name": "s"}, "spec": {"containers": 5}}
    found = survey(Snapshot.of([*cluster(), config, config, {"metadata": {}}, strange]))
    assert found.kinds == {"Node": 4, "Pod": 5}
    assert found.left_out == {"ConfigMap": 2, "(no kind)": 1}
    assert (found.nodes, found.nodes_unschedulable) == (4, 1)
    assert found.node_versions == {"v1.37.0": 4}
    assert found.pods == {State.ON_NODE: 1, State.PENDING: 3}
    assert found.pending_by_scheduler == {"kpolicy": 2, "default-scheduler": 1}
    assert found.allocatable["cpu"] == 16
    assert found.requested == {"cpu": 3, "memory": 2**30, "pods": 1}
    assert len(found.problems) == 2  # of the engine: what has no kind, and what cannot be read
