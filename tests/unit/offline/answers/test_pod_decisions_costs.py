"""Cost limits where pods are decided: which rules err, on which nodes, with which message."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy import Program, Snapshot, compile_policy, explain
from kpolicy.offline.answers.pod_decisions import simulate
from kpolicy.offline.reports.explanation_text import text as shown
from kpolicy.offline.snapshot_lint.lint_snapshot import lint
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod

NESTED = "node.pods.all(p, node.pods.exists(q, q.priority >= p.priority))"
TAINTS = "node.taints.all(t, t.effect == 'PreferNoSchedule' || pod.tolerates(t))"


def program(limits: str, predicates: str = "", priorities: str = "") -> Program:
    sides = f"  predicates:\n{predicates}" if predicates else ""
    sides += f"  priorities:\n{priorities}" if priorities else ""
    compiled = compile_policy(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n"
        f"  profiles: [{{schedulerName: kpolicy}}]\n  base: none\n  tieBreak: name\n"
        f"  limits: {limits}\n{sides}"
    )
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def rule(name: str, expression: str, more: str = "") -> str:
    return f'  - {{name: {name}, expression: "{expression}"{more}}}\n'


def explained(items: list[dict[str, Any]], policy: Program) -> dict[str, Any]:
    [explanation] = explain(Snapshot.of(items), policy).explanations
    return explanation


def filters(explanation: dict[str, Any]) -> dict[str, Any]:
    return {node["name"]: node.get("filter") for node in explanation["nodes"]}


def nodes(count: int) -> list[dict[str, Any]]:
    return [node(f"n{index:03}", cpu="4") for index in range(count)]


def test_a_rule_that_the_cycle_does_not_cover_rejects_every_node_and_says_why() -> None:
    policy = program(
        "{costPerCycle: 20000}", rule("ready", "!node.unschedulable") + rule("taints", TAINTS)
    )
    few = explained([*nodes(10), pod("w")], policy)
    assert filters(few) == {f"n{index:03}": None for index in range(10)}
    many = explained([*nodes(80), pod("w")], policy)
    by_rule = filters(many)
    assert len(by_rule) == 80
    for counted in by_rule.values():
        assert counted["plugin"] == "taints"
        assert counted["error"]["code"] == "KR110"
        assert "on 80 nodes more than the 20000 of a cycle" in counted["error"]["message"]
        reason = f"rule taints could not be evaluated: {counted['error']['message']} (KR110)"
        assert counted["reasons"] == [reason]
    assert "selected" not in many


def test_rules_before_the_one_that_is_too_much_still_hold_and_those_after_do_not() -> None:
    rules = rule("first", "node.name == 'n001'") + rule("taints", TAINTS) + rule("last", "true")
    explanation = explained([*nodes(80), pod("w")], program("{costPerCycle: 20000}", rules))
    by_rule = filters(explanation)
    assert by_rule["n000"]["plugin"] == "first"
    assert by_rule["n001"]["plugin"] == "taints"
    [n001] = [node for node in explanation["nodes"] if node["name"] == "n001"]
    assert [each["plugin"] for each in n001["allFilters"]] == ["taints", "last"]


def test_a_rule_that_accepts_errors_accepts_these() -> None:
    rules = rule("taints", TAINTS, ", onError: accept")
    explanation = explained([*nodes(80), pod("w")], program("{costPerCycle: 20000}", rules))
    assert set(filters(explanation).values()) == {None}


def test_a_priority_that_the_cycle_does_not_cover_counts_nothing_and_says_why() -> None:
    policy = program(
        "{costPerCycle: 20000}",
        "",
        rule("name", "node.name == 'n007' ? 100 : 0", ", weight: 1")
        + rule("dear", "size(node.taints.filter(t, pod.tolerates(t))) + 50", ", weight: 1"),
    )
    explanation = explained([*nodes(80), pod("w")], policy)
    assert explanation["selected"] == "n007"
    for each in explanation["nodes"]:
        assert each["raw"]["dear"] == 0
        [error] = each["errors"]
        assert (error["rule"], error["code"]) == ("dear", "KR110")
    lines = "\n".join(shown(explanation))
    assert "scored 0, by the rule that had an error" in lines
    assert "rule dear could not be evaluated" in lines
    few = explained([*nodes(10), pod("w")], policy)
    assert not any("errors" in each for each in few["nodes"])


def test_simulating_agrees_with_explaining_about_the_budget() -> None:
    rules = rule("taints", TAINTS)
    policy = program("{costPerCycle: 20000}", rules)
    for count, is_placed in ((10, True), (80, False)):
        [simulated] = simulate(Snapshot.of([*nodes(count), pod("w")]), policy).pods
        assert bool(simulated.node) is is_placed
        assert ("KR110" in simulated.message) is not is_placed


def crowded(count: int) -> list[dict[str, Any]]:
    """One node with few pods and one with many."""
    on = [pod(f"few{index}", node_name="n000", cpu="1m") for index in range(3)]
    on += [pod(f"many{index}", node_name="n001", cpu="1m") for index in range(count)]
    return [*nodes(2), *on, pod("w")]


@pytest.mark.parametrize(("count", "units"), [(80, 4000), (200, 3000)])
def test_a_loop_inside_a_loop_is_limited_by_what_a_node_really_costs(
    count: int, units: int
) -> None:
    """Also in columns, and however often the same is asked."""
    policy = program(
        "{allowQuadratic: true, costPerNode: 6000}",
        rule("nested", "node.pods.all(p, node.pods.all(q, q.priority == p.priority))"),
    )
    explanation = explained(crowded(count), policy)
    by_rule = filters(explanation)
    assert by_rule["n000"] is None
    part = f"`node.pods.all(q, q.priority == p.priority)` needs at least {units}"
    message = f"cost limit of 6000 units reached: {part}"
    assert by_rule["n001"]["error"] == {"code": "KR110", "message": message}
    assert by_rule["n001"]["reasons"] == [f"rule nested could not be evaluated: {message} (KR110)"]
    items = [*crowded(count), *(pod(f"x{index}", cpu="1m") for index in range(4))]
    placed = simulate(Snapshot.of(items), policy).pods
    assert [pod_.node for pod_ in placed] == ["n000"] * 5


def test_a_part_in_a_variable_is_named_with_the_variable() -> None:
    text = (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n"
        "  profiles: [{schedulerName: kpolicy}]\n"
        "  limits: {costPerNode: 3000, allowQuadratic: true}\n"
        "  variables:\n"
        "  - {name: dear, expression: \"node.pods.all(p, node.pods.all(q, q.name != ''))\"}\n"
        f"  predicates:\n{rule('r', 'node.ready && !variables.dear')}"
        f"  priorities:\n{rule('s', 'variables.dear ? 1 : 0', ', weight: 1')}"
    )
    compiled = compile_policy(text)
    assert compiled.program is not None, compiled.diagnostics
    by_rule = filters(explained(crowded(90), compiled.program))
    part = "`node.pods.all(q, q.name != '')` of variables.dear needs at least"
    assert part in by_rule["n001"]["error"]["message"]


def test_a_pending_pod_and_a_score_name_the_part() -> None:
    limits = "{allowQuadratic: true, costPerNode: 3000}"
    dear = "node.pods.all(p, node.pods.all(q, q.priority >= p.priority))"
    policy = program(limits, rule("dear", dear))
    [simulated] = simulate(Snapshot.of([node("a"), *crowded(90)[2:5], pod("w")]), policy).pods
    assert "KR110" not in simulated.message
    busy = [pod(f"x{index}", node_name="a", cpu="1m") for index in range(90)]
    [simulated] = simulate(Snapshot.of([node("a"), *busy, pod("w")]), policy).pods
    assert "`node.pods.all(q, q.priority >= p.priority)` needs at least" in simulated.message
    policy = program(limits, "", rule("dear", f"{dear} ? 1 : 0", ", weight: 1"))
    [seen] = explained([node("a"), *busy, pod("w")], policy)["nodes"]
    [error] = seen["errors"]
    assert "`node.pods.all(q, q.priority >= p.priority)` needs at least" in error["message"]


def test_errors_of_filters_have_their_code_beside_the_text() -> None:
    policy = program("{}", rule("disk", "node.labels['disk'] == 'ssd'"))
    explanation = explained([node("a", labels={"disk": "ssd"}), node("b"), pod("w")], policy)
    assert filters(explanation)["b"]["error"] == {"code": "KR102", "message": "no such key: disk"}
    assert explanation["selected"] == "a"


def test_errors_of_conditions_have_it_too() -> None:
    condition = ", matchConditions: [{name: c, expression: \"pod.labels['a'] == 'b'\"}]"
    policy = program("{}", rule("r", "node.ready", condition))
    explanation = explained([node("a"), pod("w")], policy)
    assert explanation["preFilter"]["error"] == {"code": "KR102", "message": "no such key: a"}


def test_linting_against_a_snapshot_tells_which_rule_it_has_too_many_nodes_for() -> None:
    text = (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n"
        "  profiles: [{schedulerName: kpolicy}]\n  limits: {costPerCycle: 20000}\n"
        f"  predicates:\n{rule('cheap', 'node.podCount < 50')}{rule('taints', TAINTS)}"
    )
    for count, expected in ((10, []), (80, ["spec.predicates[1].expression"])):
        found = lint([Source("p.yaml", text)], Snapshot.of([*nodes(count), pod("w")])).diagnostics
        too_dear = [finding for finding in found if finding.code == "KP401"]
        assert [finding.field for finding in too_dear] == expected
        assert all("each of 80 nodes" in finding.message for finding in too_dear)
