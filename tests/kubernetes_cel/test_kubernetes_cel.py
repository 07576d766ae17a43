"""kpolicy gives what the CEL environment of Kubernetes gives, or a difference says why not: for
every overload of the catalogue with edge values, and for random expressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any, Final

import pytest

from kpolicy.policy.cel.calls import BY_NAME
from tests.conformance.cel.random_text import INPUTS, expression, world
from tests.conformance.cel.suite import variable_json
from tests.kubernetes_cel.calls import OWN, extra, overloads, typed, untyped
from tests.kubernetes_cel.comparison import Pair, pairs, tagged
from tests.kubernetes_cel.differences import DIFFERENCES, difference_of
from tests.kubernetes_cel.program import KUBERNETES, Question, answers_of_kubernetes
from tests.kubernetes_cel.random_calls import FORMS

pytestmark = pytest.mark.peer

_SEED: Final = 20261125
_EXPRESSIONS: Final = 8_000
_WORLDS: Final = 2
_TYPES: Final = {name: str(kind) for name, kind in INPUTS.items()}


@cache
def _systematic() -> list[Pair]:
    questions = [question for _, question in typed()]
    return list(pairs([*questions, *(question for _, question in untyped()), *extra()]))


@cache
def _random() -> list[Pair]:
    chance = Random(_SEED)
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


def test_random_expressions_give_the_same() -> None:
    all_pairs = _random()
    assert _unexplained(all_pairs) == ""
    assert len(all_pairs) == _EXPRESSIONS * _WORLDS
    counts = Counter("value" in pair.theirs for pair in all_pairs)
    assert min(counts[True], counts[False]) > _EXPRESSIONS / 10


def test_every_difference_occurs() -> None:
    found = {
        known.id
        for pair in (*_systematic(), *_random())
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
