"""The conformance tests of CEL, from text through the front end and the Rust evaluator.

G1 is the standard library and syntax, G2 the extension libraries, G3 addresses of networks; the
counts are those of the data files, so that nothing drops out unseen. Cases that fail because
kpolicy follows Kubernetes are in `decided_by_kubernetes`, with the reason.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kpolicy.policy.cel import Environment, Type, compile_expression

from .decided_by_kubernetes import FAILING
from .evaluator import evaluate_all
from .suite import Case, cases, same, variable_json

DATA = Path(__file__).with_name("cel-spec")
G1 = (
    "basic",
    "comparisons",
    "conversions",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "parse",
    "plumbing",
    "string",
    "timestamps",
)
G2 = ("string_ext", "math_ext", "optionals", "macros2", "bindings_ext", "encoders_ext")
G3 = ("network_ext",)
# How many cases are left out, and why: expressions have no protobuf messages and no containers.
LEFT_OUT = {
    "comparisons": {"protobuf message or enum": 72},
    "parse": {"protobuf message or enum": 26},
    "timestamps": {"declares a message_type": 1},
    "string_ext": {"protobuf message or enum": 3},
    "optionals": {"protobuf message or enum": 11},
    "bindings_ext": {"container": 2},
}
PASSED = {"G1": 1079, "G2": 503, "G3": 67}


def _environment(case: Case) -> Environment:
    inputs = {name: Type("dyn") for name in case.variables} | case.inputs
    return Environment(
        roots=(),
        inputs=inputs,
        checked=case.checked,
        constant_patterns=False,
        warnings=False,
        cost_max=10**15,
    )


def _run(file: str) -> tuple[int, dict[str, str]]:
    """The number of cases that pass, and the results of the others by id."""
    todo = [case for case in cases(DATA, file) if not case.unsupported]
    assert not any(case.check_only for case in todo)
    compiled = [
        compile_expression(case.expression, environment=_environment(case)) for case in todo
    ]
    requests = [
        (expression.ir, {name: variable_json(value) for name, value in case.variables.items()})
        for case, expression in zip(todo, compiled, strict=True)
        if expression.ir is not None
    ]
    answers = iter(evaluate_all(requests))
    failures: dict[str, str] = {}
    for case, expression in zip(todo, compiled, strict=True):
        answer: dict[str, Any] = {"compile": [d.message for d in expression.diagnostics]}
        if expression.ir is not None:
            answer = next(answers)
        if not _passes(case, answer):
            wanted = "an error" if case.fails else case.expected
            failures[case.id] = f"{case.expression}: wanted {wanted}, got {answer}"
    return len(todo) - len(failures), failures


def _passes(case: Case, answer: dict[str, Any]) -> bool:
    if case.fails:
        return "error" in answer or "compile" in answer
    return "value" in answer and same(case.expected, answer["value"])


@pytest.mark.parametrize(("gate", "files"), [("G1", G1), ("G2", G2), ("G3", G3)])
def test_gate(gate: str, files: tuple[str, ...]) -> None:
    passed, failures = 0, dict[str, str]()
    for file in files:
        count, failed = _run(file)
        passed += count
        failures |= failed
    assert {case: why for case, why in failures.items() if case not in FAILING} == {}
    assert failures.keys() == {case for case in FAILING if case.split("/")[0] in files}
    assert passed == PASSED[gate]


def test_what_is_left_out_is_left_out_for_its_reason() -> None:
    found = {
        file: dict(counts)
        for file in (*G1, *G2, *G3)
        if (counts := Counter(c.unsupported for c in cases(DATA, file) if c.unsupported))
    }
    assert found == LEFT_OUT
