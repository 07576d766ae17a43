"""Types: text form, what fits where, joins."""

from __future__ import annotations

import pytest

from kpolicy.policy.cel.types import (
    DOUBLE,
    DYN,
    INT,
    NUMBER,
    STRING,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    parse_type,
    substituted,
)

A = Type("A")


@pytest.mark.parametrize("text", ["int", "list(int)", "map(string, list(string))", "optional(A)"])
def test_text_reads_back(text: str) -> None:
    kind = parse_type(text)
    assert kind is not None
    assert str(kind) == text


@pytest.mark.parametrize("text", ["", "list", "list(", "map(int)", "list(int", "int)", "1", "a b("])
def test_what_is_not_a_type(text: str) -> None:
    assert parse_type(text) is None


def test_deep_text_is_refused() -> None:
    assert parse_type("list(" * 100 + "int" + ")" * 100) is None


def test_parameters_bind_once() -> None:
    bound: dict[str, Type] = {}
    assert fits(STRING, A, bound)
    assert not fits(INT, A, bound)
    assert fits(DYN, A, bound)
    assert substituted(map_of(A, Type("B")), bound) == map_of(STRING, DYN)


def test_numbers_and_units() -> None:
    assert fits(INT, NUMBER, {})
    assert not fits(STRING, NUMBER, {})
    cpu = INT.with_unit("milli-cpu")
    assert cpu == INT
    assert str(cpu) == "int (milli-cpu)"


def test_joins() -> None:
    assert joined([]) == DYN
    assert joined([INT, INT]) == INT
    assert joined([INT, DOUBLE]) == DYN
    assert joined([list_of(INT), list_of(STRING)]) == list_of(DYN)
    assert joined([INT.with_unit("a"), INT.with_unit("b")]).unit == ""
