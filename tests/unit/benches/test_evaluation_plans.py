"""Only the shipped rules that are listed here are evaluated node by node, each with a reason."""

from __future__ import annotations

from collections import Counter

from benches import evaluation_plans

# Which rules are asked node by node, and why that is as it should be.
NODE_BY_NODE = {
    ("gpu-pools", "cpu-for-the-rest"): "`clamp` has no kernel, and free CPU makes no classes",
}


def test_shipped_rules_are_asked_over_columns_or_by_class() -> None:
    rows = list(evaluation_plans.shipped())
    slow = {(row.policy, row.rule): row.because for row in rows if row.evaluation == "nodes"}
    assert set(slow) == set(NODE_BY_NODE), slow
    counts = Counter(row.evaluation for row in rows)
    assert counts["columns"] >= 30
    assert counts["columns"] + counts["classes"] >= 36


def test_what_decides_as_a_built_in_is_asked_over_columns_or_by_class() -> None:
    rows = {row.rule: row.evaluation for row in evaluation_plans.as_builtins()}
    assert rows["resources"] == rows["resources, one by one"] == "columns"
    assert rows["taints"] == "classes"
    # Loops over what the pod asks for read labels by a key that is only known in the loop.
    assert rows["node selector"] == rows["required node affinity"] == "nodes"


def test_the_table_names_what_is_to_blame() -> None:
    row = evaluation_plans.Asked("p", "r", "nodes", ("node.annotations[]",))
    shown = evaluation_plans.table([row])
    assert shown[0].split() == ["policy", "rule", "asked", "by", "because", "of"]
    assert shown[1].split() == ["p", "r", "nodes", "node.annotations[]"]
