"""KP331 of `messageExpression`: messages that are too long."""

from __future__ import annotations

from tests.unit.policy.lint.judged import of_message


def test_messages_are_short_and_one_line() -> None:
    assert of_message("node.ready", "'not ready: ' + node.name") == []
    long = "'" + "x" * 300 + "'"
    assert of_message("node.ready", long) == [("KP331", long)]
    annotated = "'why: ' + node.annotations['why']"
    codes = [code for code, _ in of_message("'why' in node.annotations", annotated)]
    assert codes.count("KP331") >= 1
