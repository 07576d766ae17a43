"""The function table is consistent."""

from __future__ import annotations

from kpolicy.policy.cel.call_costs import COSTS
from kpolicy.policy.cel.call_sizes import SIZES
from kpolicy.policy.cel.calls import BY_NAME, FAMILIES, NAMES, candidates_of, signatures
from kpolicy.policy.cel.constants import check_constant
from kpolicy.policy.cel.functions_standard import overloads_of


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


def test_every_result_that_can_be_large_has_a_size() -> None:
    large = {"string", "bytes", "list", "map", "optional"}
    scalar = {"sum", "optional_none", "format_named"}
    seen = set()
    for family in FAMILIES:
        results = {overload.result for overload in overloads_of(family)}
        if any(kind.name in large or kind.is_parameter for kind in results):
            seen.add(family.id)
    assert seen - SIZES.keys() == scalar
    assert len(seen) > 30


def test_costs_and_checks_are_known() -> None:
    assert {family.cost for family in FAMILIES} == COSTS.keys()
    assert callable(check_constant)
    for family in FAMILIES:
        if family.pattern is not None:
            assert family.checked == "pattern"
