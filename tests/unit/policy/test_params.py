"""Params and quantities."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.params import cel_type, quantity
from tests.unit.policy.policies import policy, profile, said


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("200Gi", None, 200 * 2**30),
        ("1.5", None, 2),
        ("500m", "milli", 500),
        ("2", "milli", 2000),
        ("1e3", None, 1000),
        ("-1k", None, -1000),
        (".5Ki", None, 512),
        ("1n", None, 1),
        ("2GB", None, None),
        ("", None, None),
        ("9E", None, 9 * 10**18),
        ("10E", None, None),
        ("1e99", None, None),
    ],
)
def test_quantities_are_whole_numbers_rounded_up(
    text: str, unit: str | None, value: int | None
) -> None:
    assert quantity(text, unit) == value


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("int", "int"),
        ("quantity", "int"),
        ("map(string, list(string))", "map(string, list(string))"),
        ("list(quantity)", "list(int)"),
        ("map(int, int)", None),
        ("integer", None),
        ("list(int, int)", None),
        ("list(" * 9 + "int" + ")" * 9, None),
    ],
)
def test_types_of_params_are_types_of_expressions(written: str, kind: str | None) -> None:
    assert cel_type(written) == kind


TEXT = policy(
    """
params:
  most: {type: int, default: 4, minimum: 1, maximum: 9}
  pools: {type: 'map(string, list(string))', default: {ml: [a100]}}
predicates:
  - {name: a, expression: pod.priority < params.most}
  - name: b
    expression: label(node, 'gpu') in params.pools['ml']
"""
)


def test_a_value_given_comes_before_the_default() -> None:
    default, given = compile_policy(TEXT), compile_policy(TEXT, params={"most": 7})
    assert default.diagnostics == given.diagnostics == ()
    assert profile(default)["filters"][0] != profile(given)["filters"][0]
    assert profile(default)["filters"][1] == profile(given)["filters"][1]


@pytest.mark.parametrize("value", [10, 0, "4", 4.5, True, [4]])
def test_a_value_out_of_range_or_of_another_type_is_a_finding(value: Any) -> None:
    compiled = compile_policy(TEXT, params={"most": value})
    assert [code for code, _ in said(compiled.diagnostics)] == ["KP113"]


def test_a_param_without_any_value_is_a_finding() -> None:
    text = TEXT.replace("default: 4, ", "")
    assert [code for code, _ in said(compile_policy(text).diagnostics)] == ["KP113"]
    assert compile_policy(text, params={"most": 2}).diagnostics == ()
