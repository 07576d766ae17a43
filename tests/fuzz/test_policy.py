"""A little of the fuzzing in the normal lane: inputs that were found, and some new ones."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import fmt_target
from tests.fuzz.__main__ import seeds
from tests.fuzz.expressions import expression
from tests.fuzz.mutations import mutated
from tests.fuzz.policy_target import check
from tests.unit.policy.policies import policy

SEEDS = seeds()


def test_inputs_that_were_found_keep_every_promise() -> None:
    assert len([check(data) for data in SEEDS]) >= 75


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_mutated_policies_keep_every_promise(seed: int) -> None:
    check(mutated(Random(seed), SEEDS))


def test_what_was_found_is_laid_out_as_promised() -> None:
    found = [fmt_target.check(data) for data in SEEDS]
    assert len(found) >= 75
    assert sum("changed" in one for one in found) >= 20
    assert sum("carried changed" in one for one in found) >= 15


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_mutated_policies_are_laid_out_as_promised(seed: int) -> None:
    fmt_target.check(mutated(Random(seed), SEEDS))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_random_expressions_keep_every_promise(seed: int, depth: int) -> None:
    chance = Random(seed)
    written = expression(chance, depth).replace('"', "'")
    rules = f'predicates: [{{name: a, expression: "{written}"}}]\n'
    rules += f'priorities: [{{name: b, expression: "{expression(chance, depth)}"}}]'
    check(policy(rules).encode())


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_keep_every_promise(data: bytes) -> None:
    check(data)
