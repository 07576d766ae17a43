"""Whether a new node could help a pod that fits nowhere, and what then wakes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kpolicy import Source, compile_policy
from kpolicy.engine import Decision, Engine, Verdict
from kpolicy.testing import node, pod

QUOTA = {"name": "quota", "expression": "cluster.pods.count(selector({'team': 'a'})) < 1"}
POOL = {"name": "pool", "expression": "label(node, 'pool') == 'a'"}
ROOM = {"builtin": "NodeResourcesFit"}


def engine_with(*predicates: Mapping[str, Any], order: str = "kubeScheduler") -> Engine:
    document = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "profiles": [{"schedulerName": "kpolicy"}],
            "base": "none",
            "predicateOrder": order,
            "predicates": list(predicates),
        },
    }
    compiled = compile_policy([Source("policy.yaml", json.dumps(document))])
    assert compiled.program is not None, compiled.diagnostics
    engine = Engine()
    assert engine.load(compiled.program.bytes) == []
    return engine


def add(engine: Engine, *objects: dict[str, Any]) -> None:
    for each in objects:
        each["metadata"]["uid"] = each["metadata"]["name"]
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    assert engine.load_objects(json.dumps(document).encode(), "") == []


def of_team(name: str, **fields: Any) -> dict[str, Any]:
    return pod(name, labels={"team": "a"}, **fields)


def decided(engine: Engine, *uids: str) -> Sequence[Decision]:
    """Explanations, which are worked out with nothing kept from before, say the same."""
    decisions = engine.schedule(uids, 0).decisions
    for decision in decisions:
        assert decision.is_helped_by_node == ("keptBackBy" not in explained(engine, decision.uid))
    return decisions


def explained(engine: Engine, name: str) -> dict[str, Any]:
    request = json.dumps({"pods": [f"default/{name}"]}).encode()
    read: dict[str, Any] = json.loads(engine.explain(request, 0))
    return read


def test_a_rule_that_no_new_node_helps_counts_behind_the_first_that_rejects() -> None:
    engine = engine_with(ROOM, QUOTA)
    add(engine, node("n1", cpu="2"), node("n2", cpu="2"), of_team("there", node_name="n1"))
    add(engine, of_team("of-team", cpu="4"), pod("other", cpu="4"))
    of_team_decision, other = decided(engine, "of-team", "other")
    assert not of_team_decision.is_helped_by_node
    assert of_team_decision.rejected_by == ["NodeResourcesFit", "quota"]
    assert "Insufficient cpu" in of_team_decision.message
    assert not other.is_helped_by_node  # the quota counts for every pod


def test_a_node_that_only_other_rules_reject_leaves_hope() -> None:
    few = {**POOL, "helpedBy": "other"}
    engine = engine_with(ROOM, few)
    add(engine, node("n1", cpu="2"), node("n2", cpu="2", labels={"pool": "a"}))
    add(engine, pod("big", cpu="4"))
    [big] = decided(engine, "big")
    assert (big.verdict, big.is_helped_by_node) == (Verdict.PARKED, True)

    engine = engine_with(ROOM, few)
    add(engine, node("n1", cpu="2"), node("n2", cpu="2"), pod("big", cpu="4"))
    assert not decided(engine, "big")[0].is_helped_by_node


def test_a_built_in_that_rejects_before_any_node_is_looked_at() -> None:
    engine = engine_with({"builtin": "NodeAffinity"}, QUOTA)
    add(engine, node("n1"), of_team("there", node_name="n1"))
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named]}}
    waiting = of_team("p")
    waiting["spec"]["affinity"] = {"nodeAffinity": required}
    add(engine, waiting)
    assert not decided(engine, "p")[0].is_helped_by_node


def test_a_cluster_without_nodes() -> None:
    engine = engine_with({"name": "high", "expression": "pod.priority > 5"}, POOL)
    add(engine, pod("low", priority=1), pod("high", priority=9))
    low, high = decided(engine, "low", "high")
    assert (low.is_helped_by_node, high.is_helped_by_node) == (False, True)


def test_the_end_of_what_keeps_a_pod_back_wakes_it() -> None:
    engine = engine_with(ROOM, QUOTA)
    add(engine, node("n1", cpu="2"), of_team("there", node_name="n1"), pod("big", cpu="4"))
    assert not decided(engine, "big")[0].is_helped_by_node
    there = of_team("there", node_name="n1") | {"apiVersion": "v1", "kind": "Pod"}
    there["metadata"] |= {"uid": "there", "resourceVersion": "9"}
    gone = {"type": "DELETED", "object": there}
    wakes = engine.watch("pods", json.dumps(gone).encode() + b"\n", 0).wakes
    assert [wake.uid for wake in wakes] == ["big"]
    assert decided(engine, "big")[0].is_helped_by_node


def watch(engine: Engine, change: str, item: dict[str, Any]) -> list[str]:
    """The uids of the pods that this wakes."""
    item["metadata"]["uid"] = item["metadata"]["name"]
    line = json.dumps({"type": change, "object": item}).encode() + b"\n"
    applied = engine.watch("pods", line, 0)
    assert applied.unreadable == []
    return [wake.uid for wake in applied.wakes]


def test_a_parked_pod_that_rules_come_to_keep_back_is_woken_when_time_passes() -> None:
    engine = engine_with(ROOM, QUOTA)
    add(
        engine, node("n1", cpu="2"), node("n2", cpu="2"), pod("big", cpu="4"), pod("large", cpu="4")
    )
    assert all(decision.is_helped_by_node for decision in decided(engine, "big", "large"))
    # Nothing has changed, or nothing that the quota reads.
    assert engine.pass_time(0).wakes == []
    assert watch(engine, "ADDED", pod("of-others", node_name="n1")) == []
    assert engine.pass_time(0).wakes == []
    assert watch(engine, "ADDED", of_team("there", node_name="n1")) == []
    assert [wake.uid for wake in engine.pass_time(0).wakes] == ["big", "large"]
    assert not any(decision.is_helped_by_node for decision in decided(engine, "big", "large"))


def test_a_rule_that_keeps_a_pod_from_some_nodes_only_keeps_nothing_back() -> None:
    few = {"name": "few", "expression": "node.podCount < 1", "helpedBy": "other"}
    engine = engine_with(ROOM, few)
    add(engine, node("n1", cpu="2"), node("n2", cpu="2"), pod("big", cpu="4"))
    assert decided(engine, "big")[0].is_helped_by_node
    watch(engine, "ADDED", pod("first", node_name="n1"))
    assert engine.pass_time(0).wakes == []
    watch(engine, "ADDED", pod("second", node_name="n2"))
    assert [wake.uid for wake in engine.pass_time(0).wakes] == ["big"]


def test_the_status_that_is_written_to_a_pending_pod_does_not_wake_it() -> None:
    """kube-scheduler compares pods without status and managed fields (isPodUpdated)."""
    labelled = {"name": "labelled", "expression": "'go' in pod.labels"}
    engine = engine_with(labelled)
    add(engine, node("n1"), pod("p"))
    assert decided(engine, "p")[0].verdict == Verdict.PARKED
    written = pod("p")
    condition = {"type": "PodScheduled", "status": "False", "reason": "RejectedByPolicy"}
    written["status"] = {"phase": "Pending", "conditions": [condition]}
    written["metadata"]["managedFields"] = [{"manager": "kpolicy", "operation": "Update"}]
    assert watch(engine, "MODIFIED", written) == []
    assert watch(engine, "MODIFIED", pod("p", annotations={"go": ""})) == []
    assert watch(engine, "MODIFIED", pod("p", labels={"go": ""})) == ["p"]


def test_explanations_name_the_rules() -> None:
    engine = engine_with(ROOM, QUOTA)
    add(engine, node("n1", cpu="2"), of_team("there", node_name="n1"), pod("big", cpu="4"))
    shown = explained(engine, "big")
    assert shown["keptBackBy"] == ["quota"]
    assert [waits["plugin"] for waits in shown["waitsFor"]] == ["NodeResourcesFit", "quota"]


def test_a_program_with_an_unknown_kind_of_help_is_refused() -> None:
    compiled = compile_policy(every_pod=True)
    assert compiled.program is not None
    document = json.loads(compiled.program.bytes)
    document["profiles"][0]["filters"][0]["helpedBy"] = "luck"
    [refusal] = Engine().load(json.dumps(document).encode())
    assert refusal.place == "$.profiles[0].filters[0].helpedBy"
