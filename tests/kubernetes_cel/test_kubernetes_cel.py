"""kpolicy gives what the CEL environment of Kubernetes gives, or a difference says why not: for
every overload of the catalogue with edge values, for random expressions, and for the cases in which
the specification's data want something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any, Final

import pytest

from kpolicy.policy.cel.calls import BY_NAME
from tests.conformance.cel.decided_by_kubernetes import FAILING
from tests.conformance.cel.random_text import INPUTS, expression, world
from tests.conformance.cel.suite import cases, same, variable_json
from tests.conformance.cel.test_conformance import DATA
from tests.kubernetes_cel.calls import (
    OWN,
    ROWS_MAX,
    ROWS_MAX_LONG,
    extra,
    overloads,
    typed,
    untyped,
)
from tests.kubernetes_cel.comparison import Pair, pairs, tagged
from tests.kubernetes_cel.differences import DIFFERENCES, difference_of
from tests.kubernetes_cel.program import KUBERNETES, Question, answers_of_kubernetes
from tests.kubernetes_cel.random_calls import FORMS

pytestmark = pytest.mark.peer

_SEED: Final = 20261125
# Of the long variant.
_MORE_SEEDS: Final = range(1, 11)
_EXPRESSIONS: Final = 8_000
_WORLDS: Final = 2
_TYPES: Final = {name: str(kind) for name, kind in INPUTS.items()}


@cache
def _systematic(rows_max: int = ROWS_MAX) -> list[Pair]:
    questions = [question for _, question in typed(rows_max)]
    questions += [question for _, question in untyped(rows_max)]
    return list(pairs([*questions, *extra()]))


@cache
def _random(seed: int) -> list[Pair]:
    chance = Random(seed)
    return list(pairs([_question(chance) for _ in range(_EXPRESSIONS)]))


def _question(chance: Random) -> Question:
    text = expression(chance, FORMS)
    worlds = [world(chance) for _ in range(_WORLDS)]
    rows = [
        {name: variable_json(tagged(value)) for name, value in values.items()} for values in worlds
    ]
    return Question(text, _TYPES, rows)


def _unexplained(all_pairs: Iterable[Pair]) -> str:
    found = [pair for pair in all_pairs if not pair.agree and difference_of(pair) is None]
    return "\n".join(map(str, [f"{len(found)} differ", *found[:10]])) if found else ""


def test_every_overload_gives_the_same() -> None:
    all_pairs = _systematic()
    assert _unexplained(all_pairs) == ""
    asked = {overload.id for overload, _ in typed()}
    assert asked == {overload.id for overload in overloads()}
    assert len(asked) > 200
    assert len(all_pairs) > 100_000
    counts = Counter("value" in pair.theirs for pair in all_pairs)
    assert min(counts[True], counts[False]) > 30_000


def _random_expressions_give_the_same(seed: int) -> None:
    all_pairs = _random(seed)
    assert _unexplained(all_pairs) == ""
    assert len(all_pairs) == _EXPRESSIONS * _WORLDS
    counts = Counter("value" in pair.theirs for pair in all_pairs)
    assert min(counts[True], counts[False]) > _EXPRESSIONS / 10


def test_random_expressions_give_the_same() -> None:
    _random_expressions_give_the_same(_SEED)


@pytest.mark.full
def test_every_overload_gives_the_same_for_more_combinations() -> None:
    all_pairs = _systematic(ROWS_MAX_LONG)
    assert _unexplained(all_pairs) == ""
    assert len(all_pairs) > 350_000


@pytest.mark.full
@pytest.mark.parametrize("seed", _MORE_SEEDS)
def test_more_random_expressions_give_the_same(seed: int) -> None:
    _random_expressions_give_the_same(seed)


def test_kubernetes_decides_against_the_specification() -> None:
    """What the data want of these cases is not what Kubernetes gives, and kpolicy gives that."""
    decided = [
        case
        for file in sorted({name.split("/")[0] for name in FAILING})
        for case in cases(DATA, file)
        if case.id in FAILING
    ]
    questions = [
        Question(
            case.expression,
            {name: str(kind) for name, kind in case.inputs.items()},
            [{name: variable_json(value) for name, value in case.variables.items()}],
        )
        for case in decided
    ]
    all_pairs = list(pairs(questions))
    assert _unexplained(all_pairs) == ""
    as_wanted = [
        pair.question.expression
        for case, pair in zip(decided, all_pairs, strict=True)
        if (
            "value" not in pair.theirs
            if case.fails
            else "value" in pair.theirs and same(case.expected, pair.theirs["value"])
        )
    ]
    assert as_wanted == []
    assert len(decided) == len(FAILING) > 20


def test_every_difference_occurs() -> None:
    found = {
        known.id
        for pair in (*_systematic(), *_random(_SEED))
        if not pair.agree and (known := difference_of(pair)) is not None
    }
    assert {known.id for known in DIFFERENCES} - found == set()
    assert len(DIFFERENCES) > 10


def test_functions_of_kpolicy_alone_are_unknown_to_kubernetes() -> None:
    texts = [f"{name}(x)" for name in OWN] + [f"x.{name}(x)" for name in OWN]
    questions = [Question(text, {"x": "dyn"}, ({"x": 1},), KUBERNETES) for text in texts]
    answers: list[Any] = [rows[0] for rows in answers_of_kubernetes(questions)]
    assert [answer for answer in answers if "undeclared reference" not in str(answer)] == []
    assert {name for name, _ in BY_NAME} > set(OWN)
