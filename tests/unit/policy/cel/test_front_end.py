"""The whole front end, with arbitrary input."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from kpolicy.policy.cel import CompiledExpression, Environment, compile_expression
from kpolicy.policy.cel.front_end import DIAGNOSTICS_MAX

_WORDS = [
    "pod",
    "node",
    ".labels",
    ".free",
    "('cpu')",
    "['a']",
    "[0]",
    ".?a",
    "in",
    "&&",
    "||",
    "!",
    "==",
    "<",
    "+",
    "-",
    "/",
    "?",
    ":",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "1",
    "1.5",
    "2u",
    "'s'",
    "b'b'",
    "null",
    "true",
    "has(",
    ".all(x,",
    ".map(x, y,",
    "x",
    "cel.bind(x,",
    "type(",
    "dyn(",
    ".pods",
    ".count(",
    "selector('a')",
    "duration('1s')",
    ".matches('a')",
    "variables.v",
    "optional.of(",
    ".orValue(",
    "math.greatest(",
    "params.p",
    "int",
    ".size()",
    "node.taints",
]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(_WORDS), max_size=16))
def test_any_words_give_an_ir_or_errors(words: list[str]) -> None:
    text = " ".join(words)
    for checked in (True, False):
        expression = compile_expression(text, environment=Environment(checked=checked))
        errors = [d for d in expression.diagnostics if d.severity == "error"]
        assert (expression.ir is None) == bool(errors), text
        for diagnostic in expression.diagnostics:
            assert diagnostic.span is not None
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
            assert diagnostic.message


def test_diagnostics_are_bounded() -> None:
    expression = compile_expression(" || ".join(f"x{at}" for at in range(500)))
    assert len(expression.diagnostics) == DIAGNOSTICS_MAX


_DEEP = [
    "[" * 60 + "1" + "]" * 60 + ".size() == 1" + " + 1" * 30,
    "1" + " + 1" * 94 + " == 1",
    "[1].all(x, " * 60 + "x > 0" + ")" * 60,
    "has(pod.controller) ? true : " * 90 + "2 == 1",
    "'a' in (" * 60 + "['a']" + ")" * 60,
    "size(" * 60 + "'a'" + ")" * 60 + " == 1",
    "optional.of(" * 30 + "1" + ")" * 30 + ".hasValue()",
]


@pytest.mark.parametrize("text", _DEEP)
def test_deep_nesting_is_answered_at_once(text: str) -> None:
    def from_the_depth(levels: int) -> CompiledExpression:
        if levels == 0:
            return compile_expression(text, environment=Environment(cost_max=10**40))
        return from_the_depth(levels - 1)

    codes = {diagnostic.code for diagnostic in from_the_depth(200).diagnostics}
    assert codes <= {"KP204"}
    assert {d.code for d in from_the_depth(850).diagnostics} <= {"KP112", "KP204"}


def test_policy_variables_that_build_on_each_other_are_bounded() -> None:
    variables: dict[str, CompiledExpression] = {}
    for at in range(300):
        text = f"variables.v{at - 1} + 1" if at else "pod.priority"
        environment = Environment(variables=dict(variables))
        variables[f"v{at}"] = compile_expression(text, environment=environment)
    codes = [[d.code for d in variable.diagnostics] for variable in variables.values()]
    assert codes.count(["KP112"]) == 1
    assert codes[:65] == [[]] * 65
    assert variables["v299"].ir is None
