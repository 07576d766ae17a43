"""I9: the same history, seed and policy give the same placements, byte for byte. Finds the first
difference of two histories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tests.invariants.history import History, Violation

NAME = "I9"


def history_lines(history: History) -> bytes:
    """A line for each change, write and decision: everything that could differ."""
    parts: tuple[tuple[Any, ...], ...] = (
        history.changes,
        history.writes,
        history.decisions,
        history.policies,
        history.plugin_calls,
    )
    lines = [json.dumps(asdict(entry), sort_keys=True) for part in parts for entry in part]
    lines.append(json.dumps(asdict(history.at_rest) if history.at_rest else None, sort_keys=True))
    return "\n".join(lines).encode()


def same(first: bytes, second: bytes) -> Iterator[Violation]:
    for number, (line, other) in enumerate(
        zip(first.splitlines(), second.splitlines(), strict=False), start=1
    ):
        if line != other:
            text = f"line {number} differs: {line[:200]!r} and {other[:200]!r}"
            yield Violation(NAME, 0, text)
            return
    if first != second:
        yield Violation(NAME, 0, "one history is longer than the other")
