"""KP322 and KP323: scores without a bound, and scores that are the same everywhere."""

from __future__ import annotations

import pytest

from tests.unit.policy.lint.judged import findings, of_priority

UNBOUNDED = (
    "node.free('cpu')",
    "node.requested('memory') / 1024 + 5",
    "node.ready ? node.podCount : 0",
    "0 - node.podCount",
    "math.greatest(node.free('cpu'), 100)",
    "double(node.free('cpu')) * 0.5",
)
SHARES = (
    "ratio(node.free('cpu'), node.allocatable('cpu'))",
    "1.0 - node.utilization('cpu')",
    "(node.utilization('cpu') + node.utilization('memory')) / 2.0",
)
BOUNDED = (
    "node.utilization('cpu') > 0.5 ? 1.0 : 0.0",
    "50.0 + 50.0 * node.utilization('cpu')",
    "node.ready ? 100 : 0",
    "clamp(node.free('cpu'), 0, 100)",
    "math.least(node.free('cpu'), 100)",
    "100.0 * ratio(node.requested('cpu'), node.allocatable('cpu'))",
    "100 * node.free('cpu') / node.allocatable('cpu')",
    "linear(node.free('cpu'), 0, 8000, 0, 100)",
    "int(label(node, 'price'))",
    "100.0 * node.utilization('cpu')",
    "node.podCount % 100",
)


@pytest.mark.parametrize("expression", UNBOUNDED)
def test_a_score_without_a_bound_is_reported(expression: str) -> None:
    assert ("KP322", expression) in of_priority(expression)
    for method in ("none", "max", "minmax", "reverse"):
        normalized = of_priority(expression, f"normalize: {{method: {method}}}")
        assert "KP322" not in dict(normalized)


@pytest.mark.parametrize("expression", SHARES)
def test_a_share_that_is_no_percentage_is_reported(expression: str) -> None:
    assert of_priority(expression) == [("KP322", expression)]
    assert "KP322" not in dict(of_priority(f"100.0 * ({expression})"))
    assert "KP322" not in dict(of_priority(expression, "normalize: {method: max}"))


@pytest.mark.parametrize("expression", BOUNDED)
def test_a_score_that_may_have_one_is_not(expression: str) -> None:
    assert [finding for finding in of_priority(expression) if finding[0] != "KP403"] == []


@pytest.mark.parametrize("expression", ["node.ready ? 500 : 200", "node.ready ? -5 : 0"])
def test_a_score_that_is_clamped_to_one_value_is_reported(expression: str) -> None:
    assert of_priority(expression) == [("KP322", expression)]


@pytest.mark.parametrize("expression", ["50", "pod.priority", "cluster.nodeCount"])
def test_a_score_of_no_node_is_reported(expression: str) -> None:
    assert of_priority(expression) == [("KP323", expression)]


def test_a_priority_that_does_not_count_is_left_alone() -> None:
    assert of_priority("node.free('cpu')", "weight: 0") == []
    assert findings("priorities: [{name: a, expression: '5', enabled: false}]") == []
