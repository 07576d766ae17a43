"""The value of every part of an expression, as a tree in the order of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.diagnostics import Span
from kpolicy.offline.answers.expression_values import Exact, is_plain_enough, plain

_VARIABLES: Final = "variables."
_PARAMS: Final = "params."
_USE: Final = re.compile(r"\bvariables\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")


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
        return line if is_plain_enough(self.exact) else {**line, "exact": self.exact}


@dataclass(frozen=True, slots=True)
class Step:
    """One part. `span` is a place in the expression or, below a variable, in the variable's text.
    `count` is how often the part was evaluated: 0 if it was not needed, and more than 1 in a loop.
    `outcomes` has the first results."""

    text: str
    span: Span
    count: int
    outcomes: tuple[Outcome, ...]
    children: tuple[Step, ...]

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {
            "expression": self.text,
            "start": self.span.start,
            "end": self.span.end,
        }
        if self.count == 1:
            line |= self.outcomes[0].line()
        else:
            line["count"] = self.count
            if self.outcomes:
                line["results"] = [outcome.line() for outcome in self.outcomes]
        if self.children:
            line["children"] = [child.line() for child in self.children]
        return line


def variable_name(within: str) -> str:
    """`variables.rack`, as spans of the IR name the text they are of, as `rack`."""
    return within.removeprefix(_VARIABLES)


def used_variables(text: str) -> Iterator[tuple[str, Span]]:
    """The variables that a text names, and where."""
    for use in _USE.finditer(text):
        yield use.group(1), Span(use.start(), use.end())


def steps(
    text: str, ir: Mapping[str, Any], trace: Mapping[str, Any], variables: Mapping[str, str]
) -> Step:
    """The whole expression with its parts, except literals. `variables` are the texts of the
    variables that it may use."""
    return _Steps(text, ir, trace, variables).whole()


@dataclass(frozen=True, slots=True)
class _Steps:
    text: str
    ir: Mapping[str, Any]
    trace: Mapping[str, Any]
    variables: Mapping[str, str]

    def whole(self) -> Step:
        root = self.ir["root"]
        _, within = self._place(root)
        if not within:
            return self._step(root)
        return self._use(root, "", Span(0, len(self.text)))

    def _step(self, node: int) -> Step:
        span, within = self._place(node)
        text = self._text(within)[span.start : span.end]
        return self._made(node, text, span, tuple(self._children(node, span, within)))

    def _made(self, node: int, text: str, span: Span, children: tuple[Step, ...]) -> Step:
        seen = self.trace.get(str(node), {"count": 0, "outcomes": []})
        outcomes = tuple(map(_outcome, seen["outcomes"]))
        return Step(text, span, seen["count"], outcomes, children)

    def _use(self, node: int, outer: str, holder: Span) -> Step:
        """A variable where it is used: its value, and how its own text was evaluated."""
        _, within = self._place(node)
        uses = [
            span
            for name, span in used_variables(self._text(outer))
            if name == variable_name(within) and holder.start <= span.start < holder.end
        ]
        return self._made(node, within, uses[0] if uses else holder, (self._step(node),))

    def _children(self, node: int, span: Span, within: str) -> list[Step]:
        found: list[Step] = []
        for arg in self.ir["nodes"][node].get("args", ()):
            if self._place(arg)[1] != within:
                found.append(self._use(arg, within, span))
                continue
            step = self._step(arg)
            if self.ir["nodes"][arg]["op"] == "constant" and not step.text.startswith(_PARAMS):
                continue
            # Parts that a macro or a guard adds have the place of the whole, and are left out.
            found += step.children if step.span == span else (step,)
        distinct = {(step.span.start, step.span.end): step for step in found}
        return sorted(distinct.values(), key=lambda step: (step.span.start, step.span.end))

    def _place(self, node: int) -> tuple[Span, str]:
        start, end, *within = self.ir["spans"][node]
        return Span(start, end), within[0] if within else ""

    def _text(self, within: str) -> str:
        return self.variables[variable_name(within)] if within else self.text


def _outcome(outcome: Mapping[str, Any]) -> Outcome:
    if "error" in outcome:
        return Outcome(code=outcome["error"]["code"], message=outcome["error"]["message"])
    return Outcome(outcome["type"], outcome["value"])
