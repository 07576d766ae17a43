"""KP306 and KP307: rules compared with each other and with built-ins."""

from __future__ import annotations

import pytest

from tests.unit.policy.lint.judged import findings, of_two

SAME = {
    ("node.ready", "node.ready"),
    ("node.ready", "(node.ready)"),
    ("pod.priority > 5 || node.ready", "pod.priority > 3 || node.ready"),
    ("label(node, 'a') == 'x'", "label(node, 'a') != 'y'"),
    ("label(node, 'a') == 'x'", "'a' in node.labels"),
    ("node.ready && !node.unschedulable", "node.ready"),
    ("node.name in ['a', 'b']", "node.name != 'c'"),
    ("node.free('cpu') > pod.request('cpu')", "pod.request('cpu') <= node.free('cpu')"),
}
DIFFERENT = {
    ("node.ready", "!node.unschedulable"),
    ("node.ready", "node.ready && !node.unschedulable"),
    ("pod.priority > 3 || node.ready", "pod.priority > 5 || node.ready"),
    ("label(node, 'a') != 'y'", "label(node, 'a') == 'x'"),
    ("node.name != 'a'", "node.name != 'b'"),
    # True where the first is, but an error elsewhere.
    ("label(node, 'a') != 'y'", "'z' in node.labels && node.labels['z'] == 'q'"),
}
CONTRARY = {
    ("label(node, 'a') == 'x'", "label(node, 'a') == 'y'"),
    ("node.free('cpu') < 10 || false && node.ready", "node.free('cpu') > 20"),
    ("node.name.startsWith('a')", "!node.name.startsWith('a')"),
}


@pytest.mark.parametrize(("first", "second"), sorted(SAME))
def test_a_rule_that_adds_nothing_is_reported(first: str, second: str) -> None:
    assert ("KP306", second) in of_two(first, second)


@pytest.mark.parametrize(("first", "second"), sorted(DIFFERENT))
def test_a_rule_that_adds_something_is_not(first: str, second: str) -> None:
    assert [finding for finding in of_two(first, second) if finding[0] in ("KP306", "KP307")] == []


@pytest.mark.parametrize(("first", "second"), sorted(CONTRARY))
def test_rules_that_no_node_can_pass_both_are_reported(first: str, second: str) -> None:
    assert ("KP307", second) in of_two(first, second)


def test_conditions_part_rules() -> None:
    text = """
predicates:
  - {name: a, expression: "label(node, 'p') == 'x'", matchConditions: [{name: m, expression: pod.priority > 5}]}
  - {name: b, expression: "label(node, 'p') == 'y'", matchConditions: [{name: m, expression: pod.priority < 3}]}
  - {name: c, expression: "label(node, 'p') == 'x'", matchConditions: [{name: m, expression: pod.priority > 7}]}
"""  # noqa: E501
    assert findings(text) == [("KP306", "label(node, 'p') == 'x'")]


def test_an_audit_keeps_no_node_away() -> None:
    text = """
predicates:
  - {name: a, expression: node.ready, enforcement: audit}
  - {name: b, expression: node.ready}
"""
    assert findings(text) == []


def test_built_ins_beside_a_rule_are_known_also_inherited_ones() -> None:
    own = "predicates: [{builtin: NodeUnschedulable}, {name: a, expression: node.unschedulable}]"
    inherited = """
base: kube-scheduler-default
predicates: [{name: a, expression: node.podCount >= node.podLimit}]
"""
    assert findings(own) == [("KP307", "node.unschedulable")]
    assert findings(inherited) == [("KP307", "node.podCount >= node.podLimit")]
    assert findings("predicates: [{name: a, expression: node.unschedulable}]") == []


def test_a_priority_written_twice_counts_twice() -> None:
    text = """
priorities:
  - {name: a, expression: "label(node, 'd') == 's' ? 100 : 0"}
  - {name: b, expression: "label(node, 'd') == 's' ? 100 : 0", weight: 3}
"""
    assert findings(text) == [("KP306", "label(node, 'd') == 's' ? 100 : 0")]
