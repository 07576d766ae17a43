"""Entries of the program."""

from __future__ import annotations

import pytest

from kpolicy.policy.compile import compile_policy
from tests.unit.policy.policies import codes_and_places, names, policy, profile


def test_built_ins_come_in_kube_schedulers_order_then_expressions() -> None:
    text = policy(
        """
predicates:
  - {name: z, expression: node.ready}
  - builtin: NodePorts
  - {name: a, expression: '!node.unschedulable'}
  - builtin: NodeUnschedulable
"""
    )
    order = ["NodeUnschedulable", "NodePorts", "z", "a"]
    assert names(profile(compile_policy(text))["filters"]) == order
    as_written = text.replace("spec:\n", "spec:\n  predicateOrder: asWritten\n")
    assert names(profile(compile_policy(as_written))["filters"]) == [
        "z",
        "NodePorts",
        "a",
        "NodeUnschedulable",
    ]


def test_a_built_in_twice_has_two_names_and_its_own_arguments() -> None:
    text = policy(
        """
priorities:
  - {builtin: NodeResourcesFit, name: least, weight: 1}
  - {builtin: NodeResourcesFit, name: most, weight: 2, args: {strategy: MostAllocated,
     resources: [{name: nvidia.com/gpu, weight: 3}]}}
"""
    )
    least, most = profile(compile_policy(text))["scores"]
    assert (least["name"], least["args"]["scoringStrategy"]["type"]) == ("least", "LeastAllocated")
    assert most["args"]["scoringStrategy"] == {
        "type": "MostAllocated",
        "resources": [{"name": "nvidia.com/gpu", "weight": 3}],
    }


def test_normalisation_is_written_in_full() -> None:
    text = policy(
        """
priorities:
  - {name: a, expression: '1'}
  - {name: b, expression: '2', normalize: {method: max}}
  - {name: c, expression: '3', normalize: {method: linear, from: [0, 8], to: [0, 100]}}
  - {name: d, expression: '4', normalize: {method: shape, points: [{x: 1, y: 2}, {x: 3, y: 4}]}}
"""
    )
    assert [score["normalize"] for score in profile(compile_policy(text))["scores"]] == [
        {"method": "none"},
        {"method": "max"},
        {"method": "linear", "from": [0.0, 8.0], "to": [0.0, 100.0]},
        {"method": "shape", "points": [[1.0, 2.0], [3.0, 4.0]]},
    ]


@pytest.mark.parametrize("written", ["[8, 0]", "[4, 4]"])
def test_a_range_that_does_not_rise_is_one_finding(written: str) -> None:
    normalize = f"{{method: linear, from: {written}, to: [100, 0]}}"
    rule = f"{{name: a, expression: node.podCount, normalize: {normalize}}}"
    found = compile_policy(policy(f"priorities: [{rule}]")).diagnostics
    assert [(finding.code, finding.message) for finding in found] == [
        ("KP115", "`from` must rise; `to` may fall")
    ]


def test_a_predicate_says_how_it_rejects() -> None:
    text = policy(
        """
predicates:
  - name: no-spot
    expression: node.ready
  - name: b
    expression: pod.priority > 0
    messageExpression: "'low: ' + string(pod.priority)"
    reason: LowPriority
    preemptible: false
    enforcement: audit
    onError: accept
"""
    )
    first, second = profile(compile_policy(text))["filters"]
    assert (first["reason"], first["message"]) == ("NoSpot", "node(s) didn't pass no-spot")
    assert second["messageExpression"]["nodes"]
    assert (second["reason"], second["preemptible"]) == ("LowPriority", False)
    assert (second["enforcement"], second["onError"]) == ("audit", "accept")


def test_a_shadow_policy_is_counted_and_never_acts() -> None:
    text = policy(
        """
shadow: true
predicates: [{name: a, expression: node.ready}]
priorities: [{name: b, expression: '1'}]
"""
    )
    entry = profile(compile_policy(text))
    assert [rule["enforcement"] for rule in entry["filters"]] == ["audit"]
    assert entry["scores"] == []


def test_implicit_built_ins_are_asked_unless_they_are_listed() -> None:
    text = policy(
        "implicit: [TaintToleration, NodeUnschedulable]\npredicates: [{builtin: TaintToleration}]"
    )
    assert names(profile(compile_policy(text))["filters"]) == [
        "NodeUnschedulable",
        "TaintToleration",
    ]
    unknown = compile_policy(text.replace("NodeUnschedulable", "NodeUnschedulabel"))
    assert [code for code, _ in codes_and_places(unknown.diagnostics)] == ["KP103"]


def test_weights_that_the_engine_would_refuse_are_findings() -> None:
    rules = "".join(f"  - {{name: a{i}, weight: 1000000, expression: '{i}'}}\n" for i in range(21))
    compiled = compile_policy(policy(f"priorities:\n{rules}"))
    assert compiled.program is None
    assert {code for code, _ in codes_and_places(compiled.diagnostics)} == {"KP113", "KP323"}


def test_only_a_policy_that_frees_devices_has_it_in_its_program() -> None:
    plain = compile_policy(policy("preemption: {}"))
    off = compile_policy(policy("preemption: {freesDevices: false}"))
    freeing = compile_policy(policy("preemption: {freesDevices: true}"))
    assert "freesDevices" not in profile(plain)["preemption"]
    assert profile(off) == profile(plain)
    assert profile(freeing)["preemption"]["freesDevices"] is True


def test_victims_are_chosen_by_an_expression_that_sees_them() -> None:
    text = policy(
        """
preemption:
  victims: {expression: victim.priority < pod.priority - 100}
  order: [fewestPdbViolations, latestStart]
"""
    )
    preemption = profile(compile_policy(text))["preemption"]
    assert preemption["victims"]["expression"]["nodes"]
    assert preemption["victims"]["policy"] == 0
    assert preemption["order"] == ["fewestPdbViolations", "latestStart"]
    outside = compile_policy(policy("predicates: [{name: a, expression: victim.priority > 0}]"))
    assert [code for code, _ in codes_and_places(outside.diagnostics)] == ["KP201"]
