"""What rules came to, as the engine counts it: node by node and in columns alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kpolicy import Program
from kpolicy.engine import Engine
from kpolicy.testing import node, pod
from tests.unit.offline.answers.test_pod_decisions_costs import crowded, nodes, program, rule

FEW, MANY = 3, 200


def each(_: str) -> bool:
    return True


def none(_: str) -> bool:
    return False


def ending_in_1(name: str) -> bool:
    return name.endswith("1")


def counted(policy: Program, items: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """By rule, after one decision."""
    engine = Engine()
    assert engine.load(policy.bytes) == []
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, pod("w")]}).encode()
    assert engine.load_objects(body, "items") == []
    engine.schedule([pod.uid for pod in engine.pending()], 0)
    rules = json.loads(engine.statistics())["rules"]
    return {key.partition("/")[2]: count_of_rule for key, count_of_rule in rules.items()}


@pytest.mark.parametrize("count", [FEW, MANY])
@pytest.mark.parametrize(
    ("expression", "more", "clamped"),
    [
        ("250", "", each),
        ("-1", "", each),
        ("1000.5", "", each),
        ("100", "", none),
        ("0.0", "", none),
        ("250", ", normalize: {method: max}", none),
        ("pod.priority > 0 ? 250 : 1", "", none),
        ("node.name.endsWith('1') ? 101 : 50", "", ending_in_1),
    ],
)
def test_a_score_that_is_held_within_0_and_100_is_counted(
    count: int, expression: str, more: str, clamped: Callable[[str], bool]
) -> None:
    policy = program("{}", "", rule("far", expression, f", weight: 1{more}"))
    count_of_rule = counted(policy, nodes(count))["far"]
    assert count_of_rule["clamped"] == sum(
        clamped(node["metadata"]["name"]) for node in nodes(count)
    )
    assert (count_of_rule["errors"], count_of_rule["costExceeded"]) == (0, 0)


def test_a_score_in_error_is_not_clamped() -> None:
    policy = program("{}", "", rule("rank", "int(node.labels['rank'])", ", weight: 1"))
    items = [node("a", labels={"rank": "300"}), node("b", labels={"rank": "3"}), node("c")]
    count_of_rule = counted(policy, items)["rank"]
    assert count_of_rule == {"errors": 1, "costExceeded": 0, "clamped": 1, "audited": 0}


@pytest.mark.parametrize("side", ["predicates", "priorities"])
def test_a_rule_that_the_cycle_does_not_cover_counts_every_node(side: str) -> None:
    dear = "node.taints.all(t, t.effect == 'PreferNoSchedule' || pod.tolerates(t))"
    limits = "{costPerCycle: 20000}"
    if side == "predicates":
        policy = program(limits, rule("dear", dear))
    else:
        policy = program(limits, "", rule("dear", f"({dear}) ? 1 : 0", ", weight: 1"))
    count_of_rule = counted(policy, nodes(80))["dear"]
    assert (count_of_rule["errors"], count_of_rule["costExceeded"]) == (80, 80)
    assert counted(policy, nodes(10))["dear"]["costExceeded"] == 0


@pytest.mark.parametrize("more", [0, MANY])
def test_a_node_that_costs_too_much_is_counted_beside_other_errors(more: int) -> None:
    nested = "node.pods.all(p, node.pods.all(q, q.priority == p.priority))"
    policy = program(
        "{allowQuadratic: true, costPerNode: 2000}",
        rule("nested", f"{nested} && node.labels['kubernetes.io/hostname'] != node.labels['x']"),
    )
    others = [node(f"other{number:03}") for number in range(more)]
    count_of_rule = counted(policy, [*crowded(200), *others])["nested"]
    assert count_of_rule["costExceeded"] == 1
    assert count_of_rule["errors"] == 2 + more
