"""Asks kpolicy and Kubernetes the same questions, and pairs the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.engine.compiled import Engine
from kpolicy.policy.cel import Environment, compile_expression
from kpolicy.policy.cel.types import parse_type
from tests.conformance.cel.evaluator import evaluate_all
from tests.conformance.cel.suite import same
from tests.kubernetes_cel.program import Question, answers_of_kubernetes


@dataclass(frozen=True, slots=True)
class Pair:
    """The two answers to one row: `value`, `error` or `refused` (while compiling)."""

    question: Question
    row: Mapping[str, Any]
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]

    @property
    def agree(self) -> bool:
        """Equal values of equal types, or no value on either side."""
        if "value" in self.ours and "value" in self.theirs:
            return same(_visible(self.theirs["value"]), _visible(self.ours["value"]))
        return "value" not in self.ours and "value" not in self.theirs

    def __str__(self) -> str:
        row = ", ".join(f"{name}={value!r}" for name, value in self.row.items())
        return (
            f"{self.question.expression}  [{row}]\n"
            f"    kpolicy {dict(self.ours)}\n    Kubernetes {dict(self.theirs)}"
        )


def meets_nan(pair: Pair) -> bool:
    """Whether a part of the expression is not a number, when kpolicy evaluates it."""
    compiled = compile_expression(pair.question.expression, environment=_environment(pair.question))
    request = {"ir": compiled.ir, "variables": dict(pair.row), "trace": True}
    answer = json.loads(Engine().evaluate(json.dumps(request).encode(), 0))
    return any(
        outcome.get("value") == {"double": "NaN"}
        for step in answer.get("trace", {}).values()
        for outcome in step["outcomes"]
    )


def _visible(value: Any) -> Any:
    """What an expression can tell of a value: of a URL its parts, which have questions of their
    own, but not how it was written; of zero its sign."""
    if isinstance(value, list):
        return list(map(_visible, value))
    if isinstance(value, Mapping):
        ((tag, body),) = value.items()
        if tag == "double":
            return {"double and sign": [value, "-" if str(body).startswith("-") else "+"]}
        return {tag: "" if tag == "url" else _visible(body)}
    return value


def tagged(value: Any) -> Any:
    """A value of Python in our JSON form."""
    if isinstance(value, float):
        return {"double": value}
    if isinstance(value, list):
        return list(map(tagged, value))
    if isinstance(value, dict):
        return {"map": [[tagged(key), tagged(item)] for key, item in value.items()]}
    return value


def pairs(questions: Sequence[Question]) -> Iterator[Pair]:
    theirs = answers_of_kubernetes(questions)
    for question, own, other in zip(questions, answers_of_kpolicy(questions), theirs, strict=True):
        for row, a, b in zip(question.rows, own, other, strict=True):
            yield Pair(question, row, a, b)


def answers_of_kpolicy(questions: Sequence[Question]) -> Iterator[list[dict[str, Any]]]:
    for question in questions:
        compiled = compile_expression(question.expression, environment=_environment(question))
        if compiled.ir is None:
            refused = {"refused": "; ".join(each.message for each in compiled.diagnostics)}
            yield [refused] * len(question.rows)
            continue
        yield evaluate_all([(compiled.ir, dict(row)) for row in question.rows])


def _environment(question: Question) -> Environment:
    inputs = {}
    for name, text in question.types.items():
        kind = parse_type(text)
        assert kind is not None, text
        inputs[name] = kind
    return Environment(
        roots=(), inputs=inputs, constant_patterns=False, warnings=False, cost_max=10**15
    )
