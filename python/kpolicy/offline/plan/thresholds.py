"""Figures of a plan by name, and expressions over them: a plan fails where one is true.

The expressions are CEL, evaluated as `kpolicy eval` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.diagnostics import did_you_mean
from kpolicy.offline.answers.evaluate import Evaluated, Evaluating
from kpolicy.offline.plan.node_measures import Measures, Triple
from kpolicy.offline.plan.plan_model import Plan, Threshold, classes_line
from kpolicy.offline.snapshots.snapshot_problem import Problem

# The result of a threshold is a bool, as that of a predicate.
_NOT_BOOL: Final = "KP203"
_BOOL: Final = "bool"
_NO_SUCH_KEY: Final = "KR102"

Figures = Mapping[str, Any]


def figures_of(plan: Plan) -> dict[str, Any]:
    """Counts are whole numbers; shares and sums have a fraction."""
    counts = plan.counts.line()
    measures = plan.measures
    return {
        **counts,
        "nodes": measures.nodes,
        "nodesInUse": measures.in_use.line(),
        "fullness": {name: _doubles(use.fullness) for name, use in measures.resources.items()},
        "fragmentation": {
            name: _doubles(use.fragmentation) for name, use in measures.resources.items()
        },
        "skew": {label: skew.line() for label, skew in measures.skew.items()},
        "classes": classes_line(plan.classes),
        **_columns(measures),
    }


def _doubles(shares: Triple) -> dict[str, float]:
    return {name: float(value) for name, value in shares.line().items()}


def _columns(measures: Measures) -> dict[str, dict[str, float]]:
    return {name: _doubles(each.total) for name, each in measures.columns.items()}


# The names that every plan has.
FIGURES: Final = tuple(figures_of(Plan("", "", ())))


def misspelt(expressions: Sequence[str], columns: Sequence[str]) -> Iterator[Problem]:
    """Expressions that no plan could answer, before anything is decided."""
    values = {**figures_of(Plan("", "", ())), **{name: {} for name in columns}}
    work = Evaluating()
    for expression in expressions:
        evaluated = work.evaluate(expression, values)
        if evaluated.is_refused:
            yield _problem(evaluated, values)


def judged(plan: Plan, expressions: Sequence[str]) -> list[Threshold | Problem]:
    """In the order of the expressions."""
    values = figures_of(plan)
    work = Evaluating()
    return [_judged(work.evaluate(expression, values), values) for expression in expressions]


def _judged(evaluated: Evaluated, values: Figures) -> Threshold | Problem:
    if evaluated.error is not None or evaluated.is_refused:
        return _problem(evaluated, values)
    if evaluated.type != _BOOL:
        message = f"the result is of type {evaluated.type}, and has to be bool"
        return Problem(_NOT_BOOL, "--fail-on", evaluated.expression, message)
    return Threshold(evaluated.expression, evaluated.value is True)


def _problem(evaluated: Evaluated, values: Figures) -> Problem:
    finding = next((each for each in evaluated.findings if evaluated.is_refused), None)
    error = evaluated.error
    if finding is not None:
        code, message, hint = finding.code, finding.message, finding.hint
    else:
        assert error is not None, "there is no value"
        code, message, hint = error.code, error.message, error.hint
    if code == _NO_SUCH_KEY:
        hint = _near_key(message.rpartition(": ")[2], values)
    return Problem(code, "--fail-on", evaluated.expression, message, hint)


def _near_key(key: str, values: Figures) -> str:
    """The key of a figure that was perhaps meant."""
    return did_you_mean(key.strip("'\"`"), dict.fromkeys(_keys(values)))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
