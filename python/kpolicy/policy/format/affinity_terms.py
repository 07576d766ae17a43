"""Node affinity as a formula: what a pod's node must have, depending on the pod.

A `Need` is a requirement of a node selector, a `Test` a condition on the pod alone. `terms_of`
gives the alternatives of a formula, which become the terms of a node selector.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

TERMS_MAX: Final = 32
_OPPOSITE: Final = {
    "In": "NotIn",
    "NotIn": "In",
    "Exists": "DoesNotExist",
    "DoesNotExist": "Exists",
}


class NotSayableError(Exception):
    """Node affinity cannot say it exactly; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Need:
    """A requirement on a label of the node; `values` are CEL expressions that give texts."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def text(self) -> str:
        """The requirement as CEL."""
        operator, values = f"dyn({quoted(self.operator)})", ", ".join(self.values)
        return (
            f"{{'key': dyn({quoted(self.key)}), 'operator': {operator}, 'values': dyn([{values}])}}"
        )


@dataclass(frozen=True, slots=True)
class Test:
    """A CEL expression on the pod that is true or false and never errs."""

    text: str


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple[Formula, ...] = ()


Formula: TypeAlias = Need | Test | All | Any
ALWAYS: Final = All()
NEVER: Final = Any()


@dataclass(frozen=True, slots=True)
class Term:
    """One alternative: where the tests hold for a pod, a node that meets the needs is accepted."""

    tests: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()

    @property
    def condition(self) -> str:
        return " && ".join(f"({test})" for test in self.tests) or "true"


def quoted(text: str) -> str:
    """A text as a CEL literal in single quotes."""
    inner = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inner}'"


def opposite(formula: Formula) -> Formula:
    match formula:
        case All(parts):
            return Any(tuple(map(opposite, parts)))
        case Any(parts):
            return All(tuple(map(opposite, parts)))
        case Test(text):
            return Test(f"!({text})")
        case Need(key, operator, values) if operator in _OPPOSITE:
            return Need(key, _OPPOSITE[operator], values)
    raise NotSayableError("it accepts errors of a number in a label, which affinity rejects")


def terms_of(formula: Formula) -> tuple[Term, ...]:
    """Its alternatives; none if it is never true. One that another contains is left out."""
    terms = _terms(formula)
    distinct = list(dict.fromkeys(terms))
    return tuple(
        term
        for term in distinct
        if not any(other is not term and _contains(other, term) for other in distinct)
    )


def _contains(wider: Term, term: Term) -> bool:
    """Whether the wider one is true wherever the other is."""
    return set(wider.tests) <= set(term.tests) and set(wider.needs) <= set(term.needs)


def _terms(formula: Formula) -> list[Term]:
    match formula:
        case Need():
            return [Term(needs=(formula,))]
        case Test(text):
            return [Term(tests=(text,))]
        case Any(parts):
            found = [term for part in parts for term in _terms(part)]
        case All(parts):
            sides = [_terms(part) for part in parts]
            count = 1
            for side in sides:
                count *= len(side)
                _bound(count)
            found = [_joined(chosen) for chosen in product(*sides)]
    _bound(len(found))
    return found


def _bound(count: int) -> None:
    if count > TERMS_MAX:
        raise NotSayableError(f"it has more than {TERMS_MAX} alternatives")


def _joined(terms: tuple[Term, ...]) -> Term:
    tests = dict.fromkeys(test for term in terms for test in term.tests)
    needs = dict.fromkeys(need for term in terms for need in term.needs)
    return Term(tuple(tests), tuple(needs))
