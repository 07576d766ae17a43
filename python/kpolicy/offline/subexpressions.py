"""What every part of an expression gave, as a tree in the order of the text.

Owns turning the engine's trace (outcomes by node of the IR) into parts of the text. Assumes spans
within one text. Must not evaluate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kpolicy.diagnostics import Span
from kpolicy.offline.values import Exact, is_told, plain


@dataclass(frozen=True, slots=True)
class Outcome:
    """A value with the name of its type, or an error."""

    type: str = ""
    exact: Exact = None
    code: str = ""
    message: str = ""

    def line(self) -> dict[str, Any]:
        if self.code:
            return {"error": {"code": self.code, "message": self.message}}
        line: dict[str, Any] = {"type": self.type, "value": plain(self.exact)}
        return line if is_told(self.exact) else {**line, "exact": self.exact}


@dataclass(frozen=True, slots=True)
class Step:
    """One part. `count` is how often it was evaluated: 0 where nothing asked for it, more than one
    in a loop, of which `outcomes` holds the first ones."""

    text: str
    span: Span
    count: int
    outcomes: tuple[Outcome, ...]
    children: tuple[Step, ...]

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {
            "expression": self.text, "start": self.span.start, "end": self.span.end
        }  # fmt: skip
        if self.count == 1:
            line |= self.outcomes[0].line()
        else:
            line["count"] = self.count
            if self.outcomes:
                line["results"] = [one.line() for one in self.outcomes]
        if self.children:
            line["children"] = [child.line() for child in self.children]
        return line


def steps(text: str, ir: Mapping[str, Any], trace: Mapping[str, Any]) -> Step:
    """The whole expression with its parts; literals speak for themselves and are left out."""
    return _step(text, ir, trace, ir["root"])


def _step(text: str, ir: Mapping[str, Any], trace: Mapping[str, Any], node: int) -> Step:
    span = _span(ir, node)
    seen = trace.get(str(node), {"count": 0, "outcomes": []})
    outcomes = tuple(map(_outcome, seen["outcomes"]))
    children = tuple(_children(text, ir, trace, node, span))
    return Step(text[span.start : span.end], span, seen["count"], outcomes, children)


def _children(
    text: str, ir: Mapping[str, Any], trace: Mapping[str, Any], node: int, within: Span
) -> list[Step]:
    found: list[Step] = []
    for arg in ir["nodes"][node].get("args", ()):
        if ir["nodes"][arg]["op"] == "constant":
            continue
        step = _step(text, ir, trace, arg)
        # What a macro or a guard adds has the place of the whole and says nothing new.
        found += step.children if step.span == within else (step,)
    distinct = {(step.span.start, step.span.end): step for step in found}
    return sorted(distinct.values(), key=lambda step: (step.span.start, step.span.end))


def _span(ir: Mapping[str, Any], node: int) -> Span:
    start, end, *_ = ir["spans"][node]
    return Span(start, end)


def _outcome(told: Mapping[str, Any]) -> Outcome:
    if "error" in told:
        return Outcome(code=told["error"]["kind"], message=told["error"]["message"])
    return Outcome(told["type"], told["value"])
