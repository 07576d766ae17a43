"""The compiled rules are those that are written."""

from __future__ import annotations

import json

from tests.worlds.rules import COMPILED, SHIPPED, compiled, shipped


def test_the_compiled_rules_are_up_to_date() -> None:
    assert COMPILED.read_text() == compiled(), "run `python -m tests.worlds`"
    assert SHIPPED.read_text() == shipped(), "run `python -m tests.worlds`"


def test_there_are_rules_of_every_kind() -> None:
    rules = json.loads(COMPILED.read_text())
    filters, scores = rules["filters"], rules["scores"]
    assert (len(filters), len(scores)) == (93, 12)
    assert {rule["onError"] for rule in filters} == {"accept", "reject"}
    assert {rule["enforcement"] for rule in filters} == {"deny", "audit"}
    assert {rule["failurePolicy"] for rule in filters} == {"Fail", "Ignore"}
    assert any(rule["messageExpression"] for rule in filters)
    assert {score["normalize"]["method"] for score in scores} == {
        "none",
        "max",
        "reverse",
        "minmax",
    }
    assert len(rules["victims"]) == len(rules["devices"]) == 10
