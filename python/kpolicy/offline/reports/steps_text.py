"""The parts of an expression as a tree of text, each with what it gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.offline.answers.expression_values import Outcome, Step, written

_TEXT_MAX: Final = 72
_VALUE_MAX: Final = 96
_RESULTS_MAX: Final = 5


def steps_text(step: Step) -> list[str]:
    """A line for each part, its value in a column of its own."""
    rows = list(_rows(step, "", ""))
    width = min(max(len(left) for left, _ in rows), _TEXT_MAX)
    return [f"{left:<{width}}  {right}" for left, right in rows]


def _rows(step: Step, lead: str, below: str) -> Iterator[tuple[str, str]]:
    shown = _cut(" ".join(step.text.split()), _TEXT_MAX - len(lead))
    yield lead + shown, _outcomes_text(step)
    for position, child in enumerate(step.children):
        mark, bar = ("├─ ", "│  ") if position < len(step.children) - 1 else ("└─ ", "   ")
        yield from _rows(child, below + mark, below + bar)


def _outcomes_text(step: Step) -> str:
    if step.count == 0:
        return "(not evaluated)"
    if step.count == 1:
        return _outcome(step.outcomes[0])
    shown = ", ".join(map(_outcome, step.outcomes[:_RESULTS_MAX]))
    more = ", …" if step.count > _RESULTS_MAX else ""
    return f"{_cut(shown + more, _VALUE_MAX)} ({step.count:,} times)"


def _outcome(outcome: Outcome) -> str:
    if outcome.code:
        return f"error: {outcome.message} ({outcome.code})"
    return _cut(written(outcome.exact), _VALUE_MAX)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: max(1, length - 1)] + "…"
