"""KP301: which lookups are guarded, and which are not."""

from __future__ import annotations

import pytest

from kpolicy import Source, compile_policy
from kpolicy.policy.format.fixes import fixed
from tests.unit.policy.lint.judged import findings, of_message, of_predicate, of_priority
from tests.unit.policy.policies import policy

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
    "!has(pod.controllerReplicas) || pod.controllerReplicas > 1",
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
    "pod.controllerReplicas > node.pods.sameController(pod)": ["pod.controllerReplicas"],
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


@pytest.mark.parametrize("read", ["int({})", "quantity({}).asInteger()", "cpu({})"])
def test_no_empty_text_is_proposed_where_a_number_is_read(read: str) -> None:
    """`int(label(node, 'cost'))` is an error on the same nodes."""
    guard = "`'cost' in node.labels ? … : 0`"
    assert _hint_of_priority(read.format("node.labels['cost']") + " > 5 ? 100 : 0") == guard
    both = f"{guard}, or `label(node, 'cost')`"
    assert _hint_of_priority("node.labels['cost'] == 'low' ? 100 : 0") == both


def _hint_of_priority(expression: str) -> str:
    text = policy(f'priorities: [{{name: rule, expression: "{expression}"}}]')
    [finding] = compile_policy([Source("p.yaml", text)]).diagnostics
    assert finding.code == "KP301"
    return finding.hint


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


def test_a_fact_of_a_domain_is_absent_on_a_node_without_the_label() -> None:
    count = "node.domain('rack').pods.count(selector('a=b'))"
    assert lookups(of_predicate(f"{count} < 5")) == [count]
    assert lookups(of_priority(f"{count} > 5 ? 0 : 100")) == [count]
    assert lookups(of_predicate(f"'rack' in node.labels && {count} < 5")) == []
    assert lookups(of_predicate(f"label(node, 'rack') == 'r' && {count} < 5")) == []
    assert lookups(of_predicate(f"'zone' in node.labels && {count} < 5")) == [count]
    assert lookups(of_predicate("cluster.domains('rack') > 5")) == []


def test_the_fix_of_a_domain_tests_the_label_before_the_whole_rule() -> None:
    def mended(text: str) -> str:
        head = "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: a}\n"
        spec = f"spec:\n  profiles: [{{schedulerName: kpolicy}}]\n  {text}\n"
        done = fixed([Source("a.yaml", head + spec)], compile_policy, is_unsafe=True)
        return str(done.sources[0].text).removeprefix(head)

    rule = '{name: r, expression: "%s"}'
    racks = "node.domain('rack').nodeCount"
    found = mended("predicates: [" + rule % f"{racks} < 3 || node.ready" + "]")
    assert rule % f"'rack' in node.labels && ({racks} < 3 || node.ready)" in found
    found = mended("priorities: [" + rule % f"1.0 / double({racks})" + "]")
    assert rule % f"'rack' in node.labels ? (1.0 / double({racks})) : 0.0" in found
    written = "variables: [{name: d, expression: \"node.domain('rack')\"}]\n  predicates: ["
    assert "'rack' in node.labels && (variables.d.nodeCount < 3)" in mended(
        written + rule % "variables.d.nodeCount < 3" + "]"
    )


def test_a_node_that_is_scored_has_passed_the_predicates() -> None:
    score = "priorities: [{name: two, expression: \"node.labels['t'] == 'x' ? 100 : 0\"}]"
    passed = "predicates: [{name: one, expression: \"'t' in node.labels\"}]\n"
    assert lookups(findings(passed + score)) == []
    for loose in ("enforcement: audit", "enabled: false", "onError: accept"):
        text = passed.replace("name: one", f"name: one, {loose}")
        assert lookups(findings(text + score)) == ["node.labels['t']"]
    some = passed.replace("}]", ", matchConditions: [{name: c, expression: pod.priority > 1}]}]")
    assert lookups(findings(some + score)) == ["node.labels['t']"]


def test_a_variable_is_reported_where_it_is_written_if_any_use_of_it_can_err() -> None:
    guarded = """
variables: [{name: t, expression: "pod.labels['t']"}]
predicates: [{name: one, expression: "!('t' in pod.labels) || variables.t == node.name"}]
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
