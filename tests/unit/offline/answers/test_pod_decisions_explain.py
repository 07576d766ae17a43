"""`explain`: which pods are explained; pods on nodes are explained as if they were pending."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy import Snapshot, explain
from kpolicy.offline.answers import pod_decisions
from kpolicy.offline.answers.pod_decisions import Explaining
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import Object, aged, cluster, program


def asked(items: list[Object], *pods: str) -> tuple[list[dict[str, Any]], list[str]]:
    found = explain(Snapshot.of(items), program(), pods or None)
    return found.explanations, [str(pod) for pod in found.not_explained]


def test_without_names_all_pending_pods_that_are_served_in_queue_order() -> None:
    items = [
        *cluster(),
        aged(pod("old"), "2020-01-01T00:00:00Z"),
        aged(pod("important", priority=7), "2030-01-01T00:00:00Z"),
    ]
    explanations, left = asked(items)
    assert [explanation["pod"] for explanation in explanations] == [
        "default/important",
        "default/fits",
        "default/giant",
        "default/old",
    ]
    assert left == []


def test_the_answer_is_the_engines() -> None:
    [fits], _ = asked(cluster(), "fits")
    assert fits["best"] == ["n2"]
    by_name = {node["name"]: node for node in fits["nodes"]}
    assert by_name["n1"]["filter"] == {
        "plugin": "NodeResourcesFit",
        "code": "Unschedulable",
        "reasons": ["Insufficient cpu"],
    }
    assert by_name["n3"]["filter"]["plugin"] == "TaintToleration"
    assert by_name["n2"]["total"] == sum(by_name["n2"]["weighted"].values())
    engine = Snapshot.of(cluster()).engine(program())
    assert fits == json.loads(engine.explain(b'{"pods": ["default/fits"]}', 0))


def test_a_pod_on_a_node_is_judged_as_if_it_were_not_there_and_then_is_again() -> None:
    work = Explaining(Snapshot.of(cluster()), program())
    [before] = work.lines_of(["fits"])
    [line] = work.lines_of(["default/there"])
    there = json.loads(line)
    assert there["best"] == ["n1"]
    by_name = {node["name"]: node for node in there["nodes"]}
    # Nothing of it is on n1 while it is judged, so the disk alone makes the difference to n2.
    assert by_name["n1"]["raw"]["NodeResourcesFit"] == by_name["n2"]["raw"]["NodeResourcesFit"]
    [after] = work.lines_of(["fits"])
    assert before == after
    sizes = json.loads(work.statistics)
    assert (sizes["pods"], sizes["podsOnNodes"]) == (4, 1)


def test_a_pod_that_ended_is_judged_too() -> None:
    ended = pod("ended", node_name="n2", cpu="1")
    ended["status"] = {"phase": "Failed"}
    [found], left = asked([*cluster(), ended], "ended")
    assert (found["pod"], left) == ("default/ended", [])


def test_a_pod_that_cannot_be_explained_is_reported_with_a_hint() -> None:
    items = [*cluster(), pod("web", namespace="prod"), aged(pod("bad"), containers=5)]
    explanations, left = asked(items, "fist", "web", "others", "default/fits", "bad")
    assert [explanation["pod"] for explanation in explanations] == ["default/fits"]
    assert left == [
        "default/fist: there is no such pod in the snapshot; did you mean `default/fits`?",
        "default/web: there is no such pod in the snapshot; did you mean `prod/web`?",
        "default/others: its scheduler is `default-scheduler`; the policy serves kpolicy",
        "default/bad: it could not be read",
    ]
    _, left = asked([node("n")], "a")
    assert left == ["default/a: there is no such pod in the snapshot; there is no pod in it"]
    on_node = pod("o", node_name="n1", scheduler_name="default-scheduler")
    _, left = asked([*cluster(), on_node], "o")
    assert left == ["default/o: its scheduler is `default-scheduler`; the policy serves kpolicy"]


def test_many_pods_are_asked_about_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [node("n1"), node("n2"), *(pod(f"p{number:02}") for number in range(10))]
    whole, _ = asked(items)
    monkeypatch.setattr(pod_decisions, "EXPLAINED_NODES_MAX", 6)
    in_parts, _ = asked(items)
    assert in_parts == whole
    assert [explanation["pod"] for explanation in whole] == [
        f"default/p{number:02}" for number in range(10)
    ]


def test_a_name_asked_twice_is_explained_once() -> None:
    explanations, _ = asked(cluster(), "fits", "default/fits")
    assert len(explanations) == 1


def test_a_waiting_pod_has_what_it_waits_for() -> None:
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "x/y"}]
    huge = pod("huge", cpu="1000")
    found = {
        explanation["pod"]: explanation
        for explanation in explain(Snapshot.of([*cluster(), gated, huge])).explanations
    }
    assert "waitsFor" not in found["default/fits"]
    [gone] = found["default/gated"]["waitsFor"]
    assert gone["plugin"] == "SchedulingGates"
    assert gone["words"] == ["the pod's last scheduling gate is removed"]
    waits = {finding["plugin"]: finding for finding in found["default/huge"]["waitsFor"]}
    rejecting = {node["filter"]["plugin"] for node in found["default/huge"]["nodes"]}
    assert set(waits) == rejecting
    fit = waits["NodeResourcesFit"]
    assert {"NodeAdd", "AssignedPodDelete"} <= set(fit["events"])
    assert len(fit["events"]) == len(fit["words"])
    assert not any("DeviceClass" in words for words in fit["words"])
    [nobody] = explain(Snapshot.of([pod("alone")])).explanations[0]["waitsFor"]
    assert (nobody["plugin"], nobody["events"]) == ("", ["NodeAdd"])


def test_a_class_of_devices_is_waited_for_where_a_resource_may_be_devices() -> None:
    words = "a DeviceClass is added"
    for resource, is_waited_for in (
        ("vendor.com/gpu", True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("hugepages-2Mi", False),
    ):
        asking = pod("asking", resources={resource: "1"})
        [explanation] = explain(Snapshot.of([node("n1"), asking])).explanations
        [fit] = [each for each in explanation["waitsFor"] if each["plugin"] == "NodeResourcesFit"]
        assert (words in fit["words"]) is is_waited_for, resource
