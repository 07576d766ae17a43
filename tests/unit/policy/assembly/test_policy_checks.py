"""Limits of cost: diagnostics from compiling, and values for the engine."""

from __future__ import annotations

import pytest

from kpolicy.policy.compile import compile_policy
from tests.unit.policy.policies import document, errors, policy

TAINTS = "node.taints.all(t, t.effect == 'PreferNoSchedule' || pod.tolerates(t))"
NESTED = "node.pods.all(p, node.pods.exists(q, q.priority > p.priority))"


def ruled(limits: str, *expressions: str, more: str = "") -> str:
    rules = "".join(
        f'  - {{name: r{index}, expression: "{expression}"{more}}}\n'
        for index, expression in enumerate(expressions)
    )
    return policy(f"limits: {limits}\npredicates:\n{rules}")


def test_the_program_has_the_limits_that_policies_set() -> None:
    limited = ruled("{costPerNode: 5000, costPerCycle: 100000000}", "node.ready")
    other = policy("predicates: [{name: b, expression: node.ready}]", "other", profile="b")
    both = document(compile_policy([limited, other]))
    assert both["policies"] == ["p", "other"]
    assert both["limits"] == [{"costPerNode": 5000, "costPerCycle": 100_000_000}, {}]
    assert "limits" not in document(compile_policy(other))


def test_limits_are_honoured_so_no_finding_says_that_they_are_not() -> None:
    text = ruled("{costPerNode: 5000, costPerCycle: 1000, allowQuadratic: true}", "node.ready")
    assert compile_policy(text).diagnostics == ()


@pytest.mark.parametrize("units", ["0", "-1", "500000001", "1.5", "'7'"])
def test_limits_outside_what_the_engine_takes_are_refused(units: str) -> None:
    found = errors(compile_policy(ruled(f"{{costPerCycle: {units}}}", "node.ready")))
    assert {finding.code for finding in found} <= {"KP103", "KP113"}
    assert len(found) == 1


def test_the_first_rule_that_is_never_evaluated_is_reported() -> None:
    [finding] = errors(compile_policy(ruled("{costPerCycle: 100}", "node.ready", TAINTS, TAINTS)))
    assert (finding.code, finding.field) == ("KP401", "spec.predicates[1].expression")
    assert "the limit of a cycle is 100" in finding.message
    assert "limits.costPerCycle" in finding.hint


def test_what_only_audits_draws_nothing() -> None:
    audits = ruled("{costPerCycle: 100}", TAINTS, TAINTS, more=", enforcement: audit")
    assert errors(compile_policy(audits)) == []


def test_a_loop_inside_a_loop_is_compiled_where_the_policy_allows_it() -> None:
    [refused] = errors(compile_policy(ruled("{}", NESTED)))
    assert refused.code == "KP401"
    assert "limits.allowQuadratic" in refused.hint
    allowed = document(compile_policy(ruled("{allowQuadratic: true}", NESTED)))
    [rule] = allowed["profiles"][0]["filters"]
    assert rule["expression"]["cost"] > 1_000_000


def test_of_a_loop_inside_a_loop_a_cycle_is_charged_what_a_node_may_spend() -> None:
    text = "{allowQuadratic: true, costPerNode: 4000, costPerCycle: %d}"
    assert errors(compile_policy(ruled(text % 8000, NESTED, NESTED))) == []
    [second] = errors(compile_policy(ruled(text % 7999, NESTED, NESTED)))
    assert (second.code, second.field) == ("KP401", "spec.predicates[1].expression")
