"""What the checks prove holds: random expressions, evaluated by the engine on random values.

A condition that lint calls never true is never true, a lookup that it takes for guarded never errs,
a part that it calls always an error always fails, and rules that it finds exclusive are so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from random import Random
from typing import Any, Final

import pytest

from kpolicy.engine import evaluate_expression
from kpolicy.policy.cel import CompiledExpression, Environment, compile_expression, parse_type
from kpolicy.policy.lint.constant_parts import Fails, Folding, Known
from kpolicy.policy.lint.formulas import Formulas, contradict
from kpolicy.policy.lint.lookups import Guards, Terms, unguarded

_TYPES: Final = {
    "p": "bool",
    "q": "bool",
    "x": "int",
    "y": "int",
    "s": "string",
    "m": "map(string, string)",
}
_PARSED = {name: parse_type(text) for name, text in _TYPES.items()}
ENVIRONMENT: Final = Environment(
    inputs={name: kind for name, kind in _PARSED.items() if kind is not None}
)
_MAPS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"a": "u"},
    {"a": "v"},
    {"b": "u"},
    {"a": "u", "b": "v"},
)
WORLDS: Final[tuple[dict[str, Any], ...]] = tuple(
    {"p": p, "q": q, "x": x, "y": y, "s": s, "m": {"map": [list(pair) for pair in m.items()]}}
    for p, q, x, y, s, m in product(
        (True, False), (True, False), (-1, 0, 1, 2, 3), (0, 2), ("u", "v", "w"), _MAPS
    )
)
_ATOMS: Final = (
    "p",
    "q",
    "true",
    "false",
    "x < 2",
    "x > 1",
    "x <= 0",
    "x >= 3",
    "x == 1",
    "x != 2",
    "2 > x",
    "x < y",
    "x == y",
    "y >= x",
    "x != y",
    "s == 'u'",
    "s != 'u'",
    "s in ['u', 'v']",
    "s == 'w'",
    "'a' in m",
    "has(m.b)",
    "m['a'] == 'u'",
    "m.a == 'v'",
    "m['b'] != 'v'",
    "m[s] == 'u'",
    "s in m",
    "m[?'a'].orValue('') == 'u'",
    "('a' in m ? m['a'] : '') == 'u'",
    "('b' in m ? m.b : '') != ''",
    "x / 0 == 1",
    "x / y > 0",
    "1 + 1 == 2",
    "size(s) == 1",
    "size(m) < 0",
    "s.indexOf('u') >= -1",
    "size(m) != 2",
    "[1, 2][5] == x",
    "x * 2 >= 4",
)


def _random(chance: Random, depth: int) -> str:
    if depth == 0:
        return f"({chance.choice(_ATOMS)})"
    parts = [_random(chance, depth - 1) for _ in range(3)]
    form = chance.choice(
        (
            "({} && {})",
            "({} || {})",
            "!({})",
            "({} ? {} : {})",
            "({} && {} && {})",
            "{}",
            "({} || {} || {})",
            "({} == {})",
        )
    )
    return form.format(*parts)


def _compiled(chance: Random) -> CompiledExpression:
    text = _random(chance, chance.choice((1, 1, 2, 2, 3)))
    found = compile_expression(text, environment=ENVIRONMENT)
    assert found.tree is not None, (text, found.diagnostics)
    return found


def _outcomes(
    compiled: CompiledExpression, worlds: list[dict[str, Any]]
) -> list[Mapping[str, Any]]:
    ir = compiled.ir_bytes()
    return [json.loads(evaluate_expression(ir, json.dumps(world).encode())) for world in worlds]


def _is(outcome: Mapping[str, Any], value: bool) -> bool:
    return outcome.get("value") is value


@pytest.mark.slow
def test_what_is_proved_holds() -> None:
    chance = Random(20261122)
    claims = dict.fromkeys(("never", "guarded", "known", "fails"), 0)
    for _ in range(900):
        compiled = _compiled(chance)
        tree = compiled.tree
        assert tree is not None
        terms = Terms()
        formulas = Formulas(terms)
        never = [value for value in (True, False) if formulas.cases(tree, value) == []]
        is_guarded = not list(unguarded(Guards(terms), tree))
        folded = Folding().fold(tree)
        claims["never"] += len(never)
        claims["guarded"] += is_guarded and "m[" in compiled.text
        claims["known"] += isinstance(folded, Known)
        claims["fails"] += isinstance(folded, Fails)
        for outcome in _outcomes(compiled, chance.sample(WORLDS, 15)):
            assert not any(_is(outcome, value) for value in never), compiled.text
            if is_guarded and "error" in outcome:
                assert "no such key" not in outcome["error"]["message"], compiled.text
            if isinstance(folded, Known):
                assert outcome.get("value") == folded.value, compiled.text
            if isinstance(folded, Fails):
                assert "error" in outcome, compiled.text
    assert min(claims.values()) >= 20, claims


@pytest.mark.slow
def test_rules_that_are_reported_to_exclude_each_other_do() -> None:
    chance = Random(7)
    excluded = implied = 0
    worlds = list(WORLDS)
    for _ in range(800):
        first, second = _compiled(chance), _compiled(chance)
        assert first.tree is not None
        assert second.tree is not None
        formulas = Formulas(Terms())
        cases = formulas.cases(first.tree)
        if not cases:
            continue
        exclude = contradict(cases, formulas.cases(second.tree))
        follows = contradict(cases, formulas.cases(second.tree, False))
        if not exclude and not follows:
            continue
        excluded += exclude
        implied += follows
        drawn = chance.sample(worlds, 25)
        pairs = zip(_outcomes(first, drawn), _outcomes(second, drawn), strict=True)
        for outcome, other in pairs:
            both = _is(outcome, True), _is(other, True), _is(other, False)
            assert not (exclude and both[0] and both[1]), (first.text, second.text)
            assert not (follows and both[0] and both[2]), (first.text, second.text)
    assert excluded >= 30
    assert implied >= 30
