"""The function table is consistent."""

from __future__ import annotations

from kpolicy.policy.cel.calls import BY_NAME, FAMILIES, NAMES, candidates_of, signatures
from kpolicy.policy.cel.constants import check_constant


def test_ids_are_unique_within_a_function() -> None:
    seen = 0
    for overloads in BY_NAME.values():
        ids = [overload.id for overload in overloads]
        assert len(ids) == len(set(ids))
        seen += len(ids)
    assert seen > 200


def test_an_id_has_one_signature() -> None:
    lines = signatures()
    ids = [line.split("(")[0] for line in lines]
    assert len(ids) == len(set(ids))


def test_names_are_what_users_write() -> None:
    assert {"startsWith", "quantity", "math.abs", "sets.contains", "cpu"} <= NAMES
    assert candidates_of("size", True)
    assert candidates_of("size", False)
    assert not candidates_of("startsWith", False)


def test_costs_and_checks_are_known() -> None:
    assert {family.cost for family in FAMILIES} <= {
        "unit",
        "text",
        "same",
        "regex",
        "items",
        "product",
    }
    assert callable(check_constant)
    for family in FAMILIES:
        if family.pattern is not None:
            assert family.checked == "pattern"
