"""Random expressions give what Google's C++ implementation gives, or err where it errs.

`cel-expr-python` is a development dependency: it is asked for the same text, with the same types
and values. What is meant to differ is listed with its reason, and counted.
"""

from __future__ import annotations

import base64
from collections import Counter
from random import Random
from typing import Any, Final

import pytest
from cel_expr_python import cel as oracle
from cel_expr_python.ext import ext_strings as strings

from kpolicy.policy.cel import Environment, Type, compile_expression

from .evaluator import evaluate_all
from .random_text import INPUTS, expression, world
from .suite import same, variable_json

# The intended differences: their result, our result, and the reason. Random expressions
# keep clear of these. `None` is an error.
DEVIATIONS: Final[tuple[tuple[str, Any, Any, str], ...]] = (
    ("int(' 5')", 5, None, "cel-go, and so the API server, takes no spaces around a number"),
    ("double(' 5')", {"double": 5.0}, None, "the same"),
    ("''.split('')", [""], [], "cel-go splits an empty text into no parts"),
    ("'12'.substring(0, 2)", None, "12", "the specification lets a part end where the text ends"),
)
SEEDS: Final = (20260101, 20260102, 20260103, 20260104)
EXPRESSIONS: Final = 3_000  # of each seed
WORLDS: Final = 2
_ENVIRONMENT: Final = Environment(
    roots=(), inputs=INPUTS, constant_patterns=False, warnings=False, cost_max=10**15
)


def _their_type(kind: Type) -> Any:
    named = {"bool": "BOOL", "int": "INT", "double": "DOUBLE", "string": "STRING"}
    inner = [_their_type(parameter) for parameter in kind.parameters]
    if kind.name == "list":
        return oracle.Type.List(*inner)
    if kind.name == "map":
        return oracle.Type.Map(*inner)
    return getattr(oracle.Type, named[kind.name])


def _json(value: Any) -> Any:
    """A value of Python in our JSON form."""
    if isinstance(value, float):
        return {"double": value}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {"map": [[_json(key), _json(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return value


class _Theirs:
    def __init__(self) -> None:
        variables = {name: _their_type(kind) for name, kind in INPUTS.items()}
        self._environment = oracle.NewEnv(variables=variables, extensions=[strings.ExtStrings()])

    def answers(self, text: str, worlds: list[dict[str, Any]]) -> list[Any]:
        """Values in our form; `None` for an error, of compiling too."""
        try:
            compiled = self._environment.compile(text)
        except Exception:
            return [None] * len(worlds)
        return [self._answer(compiled.eval(data=data)) for data in worlds]

    @staticmethod
    def _answer(value: Any) -> Any:
        return None if value.type() == oracle.Type.ERROR else (_json(value.plain_value()),)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_both_give_the_same(seed: int) -> None:
    theirs = _Theirs()
    chance = Random(seed)
    texts = [expression(chance) for _ in range(EXPRESSIONS)]
    worlds = [[world(chance) for _ in range(WORLDS)] for _ in texts]
    compiled = [compile_expression(text, environment=_ENVIRONMENT) for text in texts]
    requests = [
        (expression.ir, {name: variable_json(_json(value)) for name, value in data.items()})
        for expression, group in zip(compiled, worlds, strict=True)
        if expression.ir is not None
        for data in group
    ]
    answers = iter(evaluate_all(requests))
    counts: Counter[str] = Counter()
    differ: list[str] = []
    for text, compiled_text, group in zip(texts, compiled, worlds, strict=True):
        for data, wanted in zip(group, theirs.answers(text, group), strict=True):
            got = next(answers) if compiled_text.ir is not None else {"error": "refused"}
            counts["errors" if wanted is None else "values"] += 1
            agrees = "error" in got if wanted is None else _is(got, wanted[0])
            if not agrees:
                differ.append(f"{text}\n  {data}\n  theirs {wanted}, ours {got}")
    assert differ == [], f"{len(differ)} differ:\n" + "\n".join(differ[:10])
    assert counts["values"] + counts["errors"] == EXPRESSIONS * WORLDS
    assert min(counts.values()) > 1000, counts


def test_where_they_are_meant_to_differ() -> None:
    theirs = _Theirs()
    compiled = [compile_expression(row[0], environment=_ENVIRONMENT) for row in DEVIATIONS]
    ours = evaluate_all([(expression.ir or {}, {}) for expression in compiled])
    for (text, wanted, own, why), got in zip(DEVIATIONS, ours, strict=True):
        assert why
        (answer,) = theirs.answers(text, [{}])
        assert answer == (None if wanted is None else (wanted,)), text
        assert "error" in got if own is None else _is(got, own), (text, got)


def _is(got: dict[str, Any], wanted: Any) -> bool:
    return "value" in got and same(wanted, got["value"])
