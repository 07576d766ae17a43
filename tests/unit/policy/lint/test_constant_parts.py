"""KP303 and KP305: parts that never change, and parts that always fail."""

from __future__ import annotations

import pytest

from tests.unit.policy.lint.judged import findings, of_predicate, of_priority

CONSTANT = {
    "true": "true",
    "1 + 1 == 2": "1 + 1 == 2",
    "true || node.ready": "true",
    "node.ready && 'a' == 'b'": "'a' == 'b'",
    "pod.priority > 5 && pod.priority < 3": "pod.priority > 5 && pod.priority < 3",
    "pod.priority > 4 && pod.priority < 5": "pod.priority > 4 && pod.priority < 5",
    "pod.name == 'a' && pod.name == 'b'": "pod.name == 'a' && pod.name == 'b'",
    "pod.name != 'a' || pod.name != 'b'": "pod.name != 'a' || pod.name != 'b'",
    "pod.name in ['a', 'b'] && pod.name == 'c'": "pod.name in ['a', 'b'] && pod.name == 'c'",
    "label(node, 'a') == 'x' && label(node, 'a') == 'y'": "label(node, 'a') == 'x' && label(node, 'a') == 'y'",  # noqa: E501
    "node.ready || !node.ready": "node.ready || !node.ready",
    "node.unschedulable && (node.name == 'a' && node.name == 'b')": "node.unschedulable && (node.name == 'a' && node.name == 'b')",  # noqa: E501
    "node.free('cpu') > pod.request('cpu') && node.free('cpu') < pod.request('cpu')": "node.free('cpu') > pod.request('cpu') && node.free('cpu') < pod.request('cpu')",  # noqa: E501
    "node.free('cpu') >= node.free('cpu')": "node.free('cpu') >= node.free('cpu')",
    "size(node.labels) < 0": "size(node.labels) < 0",
    "pod.name.size() >= 0": "pod.name.size() >= 0",
    "0 > node.taints.filter(t, t.key == 'a').size()": "0 > node.taints.filter(t, t.key == 'a').size()",  # noqa: E501
    "size(node.labels) == -1 || node.ready": "size(node.labels) == -1",
    "size(pod.name) > 2 || size(pod.name) != -1": "size(pod.name) > 2 || size(pod.name) != -1",
    "node.podCount < 0": "node.podCount < 0",
    "node.pods.size() > -1": "node.pods.size() > -1",
    "pod.name.indexOf('a') < -1": "pod.name.indexOf('a') < -1",
    "pod.metadata.creationTimestamp.getHours('UTC') < 24": "pod.metadata.creationTimestamp.getHours('UTC') < 24",  # noqa: E501
    "pod.metadata.creationTimestamp.getDayOfWeek() == 7": "pod.metadata.creationTimestamp.getDayOfWeek() == 7",  # noqa: E501
    "!('a' in node.labels) && has(node.labels.a)": "!('a' in node.labels) && has(node.labels.a)",
}
OPEN = (
    "pod.priority > 5 && pod.priority < 7",
    "pod.priority != 5 || pod.priority > 5",
    "size(node.labels) < 1",
    "size(pod.name) > 0",
    "pod.name.indexOf('a') < 0",
    "node.free('cpu') >= 0",
    "now.getHours() < 23",
    "node.podCount > 0",
    "pod.name == 'a' || pod.name == 'b'",
    "pod.name != 'a' && pod.name != 'b'",
    "label(node, 'a') == 'x' || label(node, 'b') == 'y'",
    "node.utilization('cpu') < 0.5 || node.utilization('cpu') > 0.9",
    "node.free('cpu') >= pod.request('cpu') || node.free('cpu') == 0",
    "node.pods.exists(p, p.priority > 5) && node.pods.exists(p, p.priority < 3)",
)
FAILING = {
    "node.free('cpu') / 0 > 1": "/ 0",
    "node.free('cpu') % 0 > 1": "% 0",
    "node.free('cpu') / (2 - 2) > 1": "/ (2 - 2)",
    "int('abc') < node.podCount": "int('abc')",
    "9223372036854775807 + 1 < node.podCount": "9223372036854775807 + 1",
    "['a', 'b'][2] == node.name": "['a', 'b'][2]",
    "{'a': 'x'}.b == node.name": "{'a': 'x'}.b",
}


@pytest.mark.parametrize("expression", CONSTANT)
def test_a_condition_that_never_changes_is_reported(expression: str) -> None:
    found = of_predicate(expression)
    assert ("KP303", CONSTANT[expression]) in found
    assert len(found) == 1


@pytest.mark.parametrize("expression", OPEN)
def test_a_condition_that_may_change_is_not(expression: str) -> None:
    assert [finding for finding in of_predicate(expression) if finding[0] == "KP303"] == []


@pytest.mark.parametrize("expression", FAILING)
def test_what_always_fails_is_an_error(expression: str) -> None:
    assert ("KP305", FAILING[expression]) in of_predicate(expression)


def test_only_the_branch_that_is_not_used_is_reported() -> None:
    assert of_priority("true ? 50 : node.free('cpu') / 0") == [("KP303", "true"), ("KP305", "/ 0")]


def test_parameters_and_variables_are_switches() -> None:
    text = """
params: {strict: {type: bool, default: true}, parts: {type: int, default: 0}}
variables: [{name: debug, expression: 'false'}]
predicates:
  - {name: a, expression: params.strict || node.ready}
  - {name: b, expression: variables.debug || node.ready}
  - {name: c, expression: node.free('cpu') / params.parts > 5}
"""
    assert findings(text) == [("KP303", "false")] or findings(text) == []


def test_conditions_of_a_policy_are_looked_at() -> None:
    text = """
matchConditions: [{name: never, expression: "pod.name == 'a' && pod.name == 'b'"}]
predicates: [{name: a, expression: node.ready}]
"""
    assert findings(text) == [("KP303", "pod.name == 'a' && pod.name == 'b'")]
