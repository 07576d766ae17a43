"""A little of the fuzzing in the normal lane: inputs that were found, and some new ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel

from kpolicy.policy.models.builtins import InterPodAffinityArgs
from kpolicy.policy.models.scheduling_policy import SchedulingPolicy
from tests.fuzz import fmt_target
from tests.fuzz.__main__ import seeds
from tests.fuzz.expressions import expression
from tests.fuzz.mutations import mutated
from tests.fuzz.policy_target import check
from tests.unit.policy.policies import policy

SEEDS = seeds()
EVERY_FIELD = Path(__file__).parent / "corpus" / "every-field.yaml"


def test_inputs_that_were_found_keep_every_promise() -> None:
    assert len([check(data) for data in SEEDS]) >= 75


@settings(max_examples=120)
@given(st.integers(0, 2**32))
def test_mutated_policies_keep_every_promise(seed: int) -> None:
    check(mutated(Random(seed), SEEDS))


def test_what_was_found_is_laid_out_as_promised() -> None:
    found = [fmt_target.check(data) for data in SEEDS]
    assert len(found) >= 75
    assert sum("changed" in finding for finding in found) >= 20
    assert sum("carried changed" in finding for finding in found) >= 15


@settings(max_examples=120)
@given(st.integers(0, 2**32))
def test_mutated_policies_are_laid_out_as_promised(seed: int) -> None:
    fmt_target.check(mutated(Random(seed), SEEDS))


@settings(max_examples=80)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_random_expressions_keep_every_promise(seed: int, depth: int) -> None:
    chance = Random(seed)
    written = expression(chance, depth).replace('"', "'")
    rules = f'predicates: [{{name: a, expression: "{written}"}}]\n'
    rules += f'priorities: [{{name: b, expression: "{expression(chance, depth)}"}}]'
    check(policy(rules).encode())


@settings(max_examples=80)
@given(st.binary(max_size=300))
def test_random_bytes_keep_every_promise(data: bytes) -> None:
    check(data)


def test_an_input_has_every_field_that_a_policy_may_have() -> None:
    """So that none is accepted where it is written and refused by the engine."""
    document = yaml.safe_load(EVERY_FIELD.read_text())
    missing = [field for field in fields(SchedulingPolicy) if not is_in(document, field.split("."))]
    assert missing == []
    assert len(list(fields(SchedulingPolicy))) > 100


def fields(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Paths as they are written; what a map or a list holds goes on from it."""
    for name, info in model.model_fields.items():
        path = f"{before}{info.alias or name}"
        yield path
        for inner in models_in(info.annotation):
            # Checked as arguments of a built-in, field by field.
            if inner is not InterPodAffinityArgs:
                yield from fields(inner, f"{path}.")


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (list, dict, Union, UnionType) or get_args(annotation):
        for inner in get_args(annotation):
            yield from models_in(inner)


def is_in(value: Any, path: list[str]) -> bool:
    """Somewhere, where the way goes through lists or maps with names of their own."""
    if not path:
        return True
    if isinstance(value, list):
        return any(is_in(item, path) for item in value)
    if not isinstance(value, dict):
        return False
    if path[0] in value:
        return is_in(value[path[0]], path[1:])
    return any(is_in(item, path) for item in value.values() if isinstance(item, dict))
