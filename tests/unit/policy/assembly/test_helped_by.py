"""Which predicates a new node may help: what is derived, what a policy says, what contradicts."""

from __future__ import annotations

import pytest

from kpolicy.policy.compile import compile_policy
from tests.unit.policy.policies import codes_and_places, policy, profile


def helped(spec: str) -> str:
    """Of the last predicate."""
    entry = profile(compile_policy(policy(spec)))["filters"][-1]
    return str(entry.get("helpedBy", "newNode"))


@pytest.mark.parametrize(
    ("expression", "by"),
    [
        ("pod.priority < 5", "other"),
        ("now.within('0 22 * * *', duration('8h'))", "other"),
        ("namespaceObject.labels.team == 'a'", "other"),
        ("cluster.pods.count(selector({'team': 'a'})) < 5", "other"),
        ("cluster.nodeCount > 5", "newNode"),
        ("cluster.free('cpu') > 5", "newNode"),
        ("label(node, 'pool') == 'a'", "newNode"),
        ("!has(node.metadata.annotations)", "newNode"),
        ("node.domain('zone').pods.count(selector({'a': 'b'})) < 5", "newNode"),
        ("node.pods.exists(p, p.priority > 5)", "newNode"),
        ("variables.pool == 'a'", "newNode"),
    ],
)
def test_what_follows_from_the_facts_that_an_expression_reads(expression: str, by: str) -> None:
    variables = "variables: [{name: pool, expression: \"label(node, 'pool')\"}]\n"
    used = variables if "variables" in expression else ""
    assert helped(f'{used}predicates: [{{name: a, expression: "{expression}"}}]') == by


def test_conditions_count_too() -> None:
    spec = "predicates: [{name: a, expression: pod.priority < 5}]\n"
    of_pods = "matchConditions: [{name: m, expression: pod.priority > 1}]\n"
    assert helped(of_pods + spec) == "other"
    of_nodes = "matchConditions: [{name: m, expression: cluster.nodeCount < 9}]\n"
    assert helped(of_nodes + spec) == "newNode"


def test_a_built_in_may_be_helped_unless_the_policy_says_otherwise() -> None:
    assert helped("predicates: [{builtin: NodePorts}]") == "newNode"
    assert helped("predicates: [{builtin: NodePorts, helpedBy: other}]") == "other"
    rule = "name: a, expression: node.pods.size() < 3"
    assert helped(f"predicates: [{{{rule}, helpedBy: other}}]") == "other"


def test_a_built_in_that_is_helped_otherwise_is_not_the_one_of_the_base() -> None:
    spec = "predicates: [{builtin: NodePorts, helpedBy: other}]"
    compiled = compile_policy(policy(spec, base=""))
    assert compiled.diagnostics == ()
    entries = profile(compiled)["filters"]
    assert [e.get("helpedBy") for e in entries if e.get("builtin") == "NodePorts"] == ["other"]


def test_a_new_node_cannot_help_a_rule_that_reads_none() -> None:
    spec = "predicates:\n  - {name: a, helpedBy: newNode, expression: pod.priority < 5}"
    assert codes_and_places(compile_policy(policy(spec)).diagnostics) == [("KP137", "7:27")]
