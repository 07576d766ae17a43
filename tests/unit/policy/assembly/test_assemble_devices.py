"""`devices.score`: how its rules are compiled, merged and refused."""

from __future__ import annotations

import json

import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import names, policy, profile

HERE = "here: `pod`, `namespaceObject`, `now`, `allocation`"


def text(expression: str, more: str = "") -> str:
    rule = f"devices: {{score: [{{name: fit, weight: 5, expression: {json.dumps(expression)}}}]}}"
    return policy(f"{more}\n{rule}", base="")


def findings(document: str) -> list[tuple[str, str]]:
    compiled = compile_policy([Source("p.yaml", document)])
    return [(finding.code, finding.hint) for finding in compiled.diagnostics]


def test_the_rules_stand_beside_the_scores_of_nodes() -> None:
    found = profile(compile_policy(text("100 * allocation.left.whole / allocation.all.whole")))
    [rule] = found["devices"]
    assert (rule["name"], rule["weight"], rule["policy"]) == ("fit", 5, 0)
    assert "fit" not in names(found["scores"])
    assert "devices" not in profile(compile_policy(policy("", base="")))


def test_a_profile_may_weigh_a_rule_otherwise_or_do_without() -> None:
    def weights(override: str) -> list[int]:
        overrides = f"overrides: {{priorities: [{{name: fit, {override}}}]}}"
        written = text("100 - allocation.size")
        served = written.replace("Name: kpolicy}", f"Name: kpolicy, {overrides}}}")
        return [rule["weight"] for rule in profile(compile_policy(served)).get("devices", [])]

    assert weights("weight: 9") == [9]
    assert weights("enabled: false") == []


@pytest.mark.parametrize(
    ("expression", "code", "hint"),
    [
        ("allocation.size > 1", "KP203", "say what it is worth: `… ? 100 : 0`"),
        ("node.free('cpu')", "KP201", HERE),
        ("node.pods.size", "KP201", HERE),
        ("allocation.left.whol", "KP201", "did you mean `whole`?"),
    ],
)
def test_what_no_such_rule_may_say_is_refused(expression: str, code: str, hint: str) -> None:
    assert (code, hint) in findings(text(expression))


def test_a_variable_does_not_bring_in_the_node() -> None:
    spare = "variables: [{name: spare, expression: \"node.free('cpu')\"}]"
    assert ("KP201", HERE) in findings(text("variables.spare", spare))


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("allocation.left.devices", "KP322"),
        ("allocation.size > 0 ? 500 : 200", "KP322"),
        ("pod.priority", "KP323"),
        ("100 * allocation.left.whole / allocation.all.whole", ""),
    ],
)
def test_a_value_out_of_its_range_is_reported(expression: str, code: str) -> None:
    found = findings(text(expression))
    assert [code for code, _ in found] == ([code] if code else [])
    assert all("normalize" not in hint for _, hint in found)


def test_it_needs_the_built_in_that_allocates() -> None:
    found = dict(findings(text("100 - allocation.size", "base: none")))
    assert found["KP115"].startswith("list `builtin: DynamicResources`")


def test_a_score_of_nodes_sees_no_allocation() -> None:
    rule = "priorities: [{name: fit, expression: allocation.size}]"
    assert "KP201" in dict(findings(policy(rule, base="")))
