"""KP301: which lookups are guarded, and which are not."""

from __future__ import annotations

import pytest

from tests.unit.policy.lint.judged import findings, of_message, of_predicate, of_priority

GUARDED = (
    "'a' in node.labels && node.labels['a'] == 'x'",
    "node.labels['a'] == 'x' && 'a' in node.labels",
    "!('a' in node.labels) || node.labels['a'] == 'x'",
    "node.labels['a'] == 'x' || !('a' in node.labels)",
    "'a' in node.labels ? node.labels['a'] == 'x' : true || node.ready",
    "!('a' in node.labels) ? node.ready : node.labels['a'] == 'x'",
    "has(node.labels.a) && node.labels.a == 'x' && node.labels['a'] != 'y'",
    "label(node, 'a') == 'x' && node.labels['a'] != 'y'",
    "label(node, 'a') != '' && node.labels['a'] != 'y'",
    "label(node, 'a') == 'x'",
    "node.labels[?'a'].orValue('') == 'x'",
    "node.labels.?a.hasValue()",
    "pod.namespace in pod.labels && pod.labels[pod.namespace] == 'x'",
    "'a' in node.labels && node.ready && (node.unschedulable || node.labels['a'] == 'x')",
    "!(!('a' in node.labels) || node.unschedulable) && node.labels['a'] == 'x'",
    (
        "('a' in node.labels && node.ready || 'a' in node.labels && node.unschedulable) "
        "&& node.labels['a'] == 'x'"
    ),
    "has(pod.controller) && pod.controller.kind == 'Job'",
    (
        "node.pods.exists(p, 'a' in p.labels && p.labels['a'] == 'x') "
        "&& node.pods.count(selector('')) > 1"
    ),
    "{'m': 1}['m'] == pod.priority",
)
UNGUARDED = {
    "node.labels['a'] == 'x'": ["node.labels['a']"],
    "node.labels.a == 'x'": ["node.labels.a"],
    "'b' in node.labels && node.labels['a'] == 'x'": ["node.labels['a']"],
    "'a' in pod.labels && node.labels['a'] == 'x'": ["node.labels['a']"],
    "'a' in node.labels || node.labels['a'] == 'x'": ["node.labels['a']"],
    "!('a' in node.labels) && node.labels['a'] == 'x' || node.ready": ["node.labels['a']"],
    "'a' in node.labels ? node.ready : node.labels['a'] == 'x'": ["node.labels['a']"],
    "node.labels['a'] == 'x' || node.labels['a'] == 'y'": ["node.labels['a']"],
    "node.labels['a'] == pod.labels['b']": ["node.labels['a']", "pod.labels['b']"],
    "node.conditions['Ready'] == 'True'": ["node.conditions['Ready']"],
    "node.labels[pod.name] == 'x'": ["node.labels[pod.name]"],
    "pod.controller.kind == 'Job'": ["pod.controller.kind"],
    "namespaceObject.labels['a'] == node.name": ["namespaceObject.labels['a']"],
    "label(node, 'a') == '' && node.labels['a'] == 'x'": ["node.labels['a']"],
    "label(node, 'a') != 'x' && node.labels['a'] == 'y'": ["node.labels['a']"],
    "pod.containers.all(c, c.requests['cpu'] > 5)": ["c.requests['cpu']"],
}


def lookups(found: list[tuple[str, str]]) -> list[str]:
    return [text for code, text in found if code == "KP301"]


@pytest.mark.parametrize("expression", GUARDED)
def test_a_guard_in_any_form_is_seen(expression: str) -> None:
    assert lookups(of_predicate(expression)) == []


@pytest.mark.parametrize("expression", UNGUARDED)
def test_what_nothing_guards_is_reported_once(expression: str) -> None:
    assert lookups(of_predicate(expression)) == UNGUARDED[expression]


def test_conditions_stand_around_rules() -> None:
    text = """
matchConditions: [{name: has, expression: "'t' in namespaceObject.labels"}]
variables: [{name: t, expression: "namespaceObject.labels['t']"}]
predicates:
  - name: one
    matchConditions: [{name: own, expression: "'u' in pod.labels"}]
    expression: variables.t == pod.labels['u'] && pod.labels['v'] == 'x'
"""
    assert lookups(findings(text)) == ["pod.labels['v']"]


def test_a_variable_is_reported_where_it_is_written_if_any_use_of_it_can_err() -> None:
    guarded = """
variables: [{name: t, expression: "pod.labels['t']"}]
predicates: [{name: one, expression: "'t' in pod.labels && variables.t == node.name"}]
"""
    assert lookups(findings(guarded)) == []
    both = guarded.replace("}]\n", "}]\n", 1) + (
        "priorities: [{name: two, expression: 'variables.t == node.name ? 100 : 0'}]"
    )
    assert lookups(findings(both)) == ["pod.labels['t']"]


def test_who_writes_on_error_has_thought_of_it() -> None:
    assert lookups(of_predicate("node.labels['a'] == 'x'", "onError: reject")) == []
    assert lookups(of_priority("node.labels['a'] == 'x' ? 1 : 0", "onError: zero")) == []


def test_a_message_is_reported_where_the_predicate_is_false() -> None:
    guarded = "!('a' in node.labels) || label(node, 'a') == 'x'"
    assert of_message(guarded, "'it is ' + node.labels['a']") == []
    assert of_message("label(node, 'a') != 'x'", "'it is ' + node.labels['a']") == []
    assert of_message("node.ready", "'it is ' + node.labels['a']") == [
        ("KP331", "node.labels['a']")
    ]


def test_variables_of_variables_end() -> None:
    lines = "".join(
        f"  - {{name: v{i}, expression: 'variables.v{i - 1} && variables.v{i - 1}'}}\n"
        for i in range(1, 60)
    )
    text = (
        "variables:\n  - {name: v0, expression: \"pod.labels['a'] == 'x'\"}\n"
        f"{lines}predicates: [{{name: one, expression: variables.v59 && node.ready}}]"
    )
    assert ("KP301", "pod.labels['a']") in findings(text)


def test_messages_are_short_and_one_line() -> None:
    assert of_message("node.ready", "'not ready: ' + node.name") == []
    long = "'" + "x" * 300 + "'"
    assert of_message("node.ready", long) == [("KP331", long)]
    annotated = "'why: ' + node.annotations['why']"
    codes = [code for code, _ in of_message("'why' in node.annotations", annotated)]
    assert codes.count("KP331") >= 1
