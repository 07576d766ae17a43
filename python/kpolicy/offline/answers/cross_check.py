"""A second opinion on an expression: cel-python evaluates it too, and the two are compared.

Parts that only kpolicy knows (facts, policy variables, functions beyond CEL's standard library) are
replaced by the values that kpolicy's engine gives them. Where the results differ, the smallest part
that differs is found, and looked up among the differences that the CEL specification decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.offline.answers.cel_python import (
    FUNCTIONS,
    MACROS,
    Answer,
    Disagreement,
    KnownDifference,
    NotInCelPythonError,
    Typed,
    children,
    evaluated,
    in_cel_python,
    known_difference,
)
from kpolicy.offline.answers.evaluate import Evaluated
from kpolicy.policy.cel import syntax
from kpolicy.policy.cel.parse import parse

_PART: Final = "kpolicy_part_"


@dataclass(frozen=True, slots=True)
class Difference:
    """The smallest part that differs. `known` is None if no known difference explains it."""

    part: str
    ours: str
    theirs: str
    known: KnownDifference | None

    def line(self) -> dict[str, Any]:
        line = {"part": self.part, "kpolicy": self.ours, "celPython": self.theirs}
        if self.known is None:
            return line
        known = self.known
        return line | {"known": known.id, "clause": known.clause, "follows": known.follows}

    def __str__(self) -> str:
        text = f"`{self.part}`: kpolicy gives {self.ours}, cel-python {self.theirs}"
        if self.known is None:
            return f"{text}; no known difference explains this"
        known = self.known
        return f"{text}; {known.follows} follows the specification: {known.clause}"


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """`compared` is the text that cel-python evaluated. It is empty if there was nothing to
    compare."""

    compared: str = ""
    difference: Difference | None = None

    @property
    def is_finding(self) -> bool:
        """Whether the two differ, and the difference is not a known one."""
        return self.difference is not None and self.difference.known is None

    def line(self) -> dict[str, Any]:
        """The JSON of `kpolicy eval --cross-check --output json`."""
        if not self.compared:
            return {"compared": None}
        line: dict[str, Any] = {"compared": self.compared, "agrees": self.difference is None}
        return line if self.difference is None else line | {"difference": self.difference.line()}

    def __str__(self) -> str:
        if not self.compared:
            return "cross-check: nothing in this is CEL that cel-python has"
        if self.difference is None:
            return "cross-check: cel-python gives the same"
        return f"cross-check: {self.difference}"


def cross_check(
    text: str, evaluate: Callable[[str], Evaluated], inputs: Sequence[str] = ()
) -> CrossCheck:
    """Compares the two on `text`; `evaluate` asks kpolicy's engine, `inputs` are plain variables.

    An expression that the type checker refuses is not compared.
    """
    tree = parse(text)
    if isinstance(tree, Diagnostic):
        return CrossCheck()
    try:
        return _Comparison(text, evaluate, frozenset(inputs)).result(tree)
    except NotInCelPythonError:
        return CrossCheck()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that is replaced by a name; `value` is None where kpolicy gives an error."""

    span: Span
    value: Any
    has_value: bool


@dataclass(frozen=True, slots=True)
class _Comparison:
    text: str
    evaluate: Callable[[str], Evaluated]
    inputs: frozenset[str]
    answers: dict[str, Answer | None] = field(default_factory=dict)

    def result(self, tree: syntax.Expression) -> CrossCheck:
        parts = self._below(tree, frozenset())
        if parts is None:
            return CrossCheck()
        theirs, compared = self._theirs(tree, parts)
        ours = self._ours(tree)
        if ours is None:
            return CrossCheck()
        if ours.agrees_with(theirs):
            return CrossCheck(compared)
        found = self._smallest(tree, ours, theirs)
        known = known_difference(found)
        return CrossCheck(
            compared, Difference(found.text, str(found.ours), str(found.theirs), known)
        )

    def _written(self, node: syntax.Expression) -> str:
        return self.text[node.span.start : node.span.end]

    def _ours(self, node: syntax.Expression) -> Answer | None:
        """kpolicy's result for a part; None where it refuses it as an expression by itself."""
        text = self._written(node)
        if text not in self.answers:
            found = self.evaluate(text)
            if found.is_refused:
                self.answers[text] = None
            elif found.error is not None:
                self.answers[text] = Answer(error=found.error.message)
            else:
                self.answers[text] = Answer(in_cel_python(found.exact))
        return self.answers[text]

    def _theirs(self, node: syntax.Expression, parts: Sequence[_Part]) -> tuple[Answer, str]:
        """cel-python's result, and the text that it evaluated."""
        start, text = node.span.start, self._written(node)
        variables = {}
        for number, part in reversed(list(enumerate(parts))):
            name = f"{_PART}{number}"
            text = text[: part.span.start - start] + name + text[part.span.end - start :]
            # A name without a value is an error, as the part is.
            if part.has_value:
                variables[name] = part.value
        return evaluated(text, variables), text

    def _smallest(self, node: syntax.Expression, ours: Answer, theirs: Answer) -> Disagreement:
        operands: list[Typed] = []
        for child in self._separable(node):
            parts = self._parts(child, frozenset())
            own = self._ours(child) if parts is not None else None
            if parts is None or own is None:
                continue
            other, _ = self._theirs(child, parts)
            if not own.agrees_with(other):
                return self._smallest(child, own, other)
            operands += [] if own.error else [own.typed]
        return Disagreement(node, self._written(node), ours, theirs, tuple(operands))

    def _separable(self, node: syntax.Expression) -> list[syntax.Expression]:
        """The operands that are expressions by themselves: not the body of a macro."""
        if isinstance(node, syntax.Call) and node.name in MACROS and node.target is not None:
            return [node.target]
        return children(node)

    def _parts(self, node: syntax.Expression, bound: frozenset[str]) -> list[_Part] | None:
        """The parts to replace, from left to right; None if a part has no value by itself."""
        found = self._below(node, bound)
        if found is not None:
            return found
        if bound & _names(node):
            return None
        answer = self._ours(node)
        if answer is None:
            return None
        return [_Part(node.span, answer.value, has_value=not answer.error)]

    def _below(self, node: syntax.Expression, bound: frozenset[str]) -> list[_Part] | None:
        """The parts to replace in a node that cel-python has; None if only kpolicy has it."""
        match node:
            case syntax.Literal():
                return []
            case syntax.Identifier(name=name):
                return [] if name in bound and not node.absolute else None
            case syntax.Select() | syntax.Index():
                is_ours = node.optional or self._is_fact(node, bound)
                return None if is_ours else self._of_all(children(node), bound)
            case syntax.ListLiteral(items=items, optional=optional):
                return None if any(optional) else self._of_all(items, bound)
            case syntax.MapLiteral(entries=entries):
                is_ours = any(entry.optional for entry in entries)
                return None if is_ours else self._of_all(children(node), bound)
            case syntax.Call():
                return self._of_call(node, bound)

    def _of_call(self, node: syntax.Call, bound: frozenset[str]) -> list[_Part] | None:
        match node:
            case syntax.Call(name="has", target=None, args=(syntax.Select() as field_,)):
                return None if field_.optional else self._parts(field_.operand, bound)
            case syntax.Call(target=target, args=(syntax.Identifier(name=name), body)) if (
                target is not None and node.name in MACROS
            ):
                over = self._parts(target, bound)
                inner = self._parts(body, bound | {name})
                return None if over is None or inner is None else [*over, *inner]
        if node.name[0].isalpha() and node.name not in FUNCTIONS:
            return None  # neither an operator nor a function that cel-python has
        return self._of_all(children(node), bound)

    def _of_all(
        self, nodes: Sequence[syntax.Expression], bound: frozenset[str]
    ) -> list[_Part] | None:
        found: list[_Part] = []
        for node in nodes:
            parts = self._parts(node, bound)
            if parts is None:
                return None
            found += parts
        return found

    def _is_fact(self, node: syntax.Expression, bound: frozenset[str]) -> bool:
        """Whether it is a path from a root such as `node`, a parameter or a policy variable."""
        while isinstance(node, syntax.Select | syntax.Index):
            node = node.operand
        return isinstance(node, syntax.Identifier) and node.name not in bound | self.inputs


def _names(node: syntax.Expression) -> frozenset[str]:
    if isinstance(node, syntax.Identifier):
        return frozenset({node.name})
    return frozenset().union(*map(_names, children(node)))
