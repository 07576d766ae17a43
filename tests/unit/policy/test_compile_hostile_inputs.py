"""No policy crashes, blocks or exhausts the process: each limit refuses it with a code."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from kpolicy.engine import Engine, Verdict
from kpolicy.offline.answers.evaluate import evaluate
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.testing.builders import node, pod
from tests.unit.policy.hostile import DOCUMENTS, EVALUATED, MEANINGS, TEXTS
from tests.unit.policy.policies import policy

NODES = 50
PODS = 3
# The codes of inputs that may compile all the same.
WARNED = {"KP303"}
# Of all the inputs.
COMPILING = 11

# A hang ends the process, also inside the engine. Each takes seconds where all is busy.
SECONDS = 300
# More than compiling or evaluating anything takes.
GROWTH_KIB = 1 << 20
EVALUATION_CODES = {"KR105", "KR106", "KR108", "KR110", "KP112", "KP204", "KP207"}


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """SIGALRM without a handler: no code in a loop can miss it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    signal.alarm(0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH_KIB


def test_how_many_there_are() -> None:
    assert (len(DOCUMENTS), len(TEXTS), len(MEANINGS), len(EVALUATED)) == (17, 23, 19, 28)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "codes"),
    [*DOCUMENTS.values(), *TEXTS.values(), *MEANINGS.values()],
    ids=[*DOCUMENTS, *TEXTS, *MEANINGS],
)
def test_it_is_refused_with_a_code_and_a_place(text: str, codes: frozenset[str]) -> None:
    compiled = compile_policy([Source("hostile.yaml", text)])
    assert {finding.code for finding in compiled.diagnostics} == codes
    assert all(finding.place is not None for finding in compiled.diagnostics)
    if codes != WARNED:
        assert compiled.program is None


@pytest.mark.parametrize("expression", EVALUATED.values(), ids=list(EVALUATED))
def test_what_is_evaluated_ends_with_a_value_or_a_code(expression: str) -> None:
    evaluated = evaluate(expression)
    if evaluated.error is None:
        assert evaluated.type == "bool"
    else:
        assert evaluated.error.code in EVALUATION_CODES, evaluated.error


def test_what_compiles_is_loaded_and_decides_about_many_nodes() -> None:
    cases = (*DOCUMENTS.values(), *TEXTS.values(), *MEANINGS.values())
    # The test above asserts that the others do not compile.
    texts = [text for text, codes in cases if codes == WARNED]
    for expression in EVALUATED.values():
        rule = json.dumps({"name": "a", "expression": expression}, ensure_ascii=False)
        texts.append(policy(f"predicates: [{rule}]"))
    loaded = decided = 0
    for text in texts:
        program = compile_policy([Source("hostile.yaml", text)]).program
        if program is None:
            continue
        engine = Engine(0)
        assert engine.load(program.bytes) == []
        objects = [node(f"n{index}") for index in range(NODES)]
        for index in range(PODS):
            waiting = pod(f"p{index}", scheduler_name=program.scheduler_names[0])
            waiting["metadata"]["uid"] = f"p{index}"
            objects.append(waiting)
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        assert engine.load_objects(json.dumps(listed).encode(), "hostile.json") == []
        answers = engine.schedule([f"p{index}" for index in range(PODS)], 0).decisions
        assert {answer.verdict for answer in answers} <= {Verdict.PLACED, Verdict.PARKED}
        loaded, decided = loaded + 1, decided + len(answers)
    assert (loaded, decided) == (COMPILING, COMPILING * PODS)


@pytest.mark.parametrize("depth", [10, 100, 5_000, 200_000])
def test_a_param_of_any_depth_is_a_finding(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    text = (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n"
        "  profiles: [{schedulerName: kpolicy}]\n  params: {p: {type: list, default: []}}\n"
        "  predicates: [{name: a, expression: size(params.p) > 0}]\n"
    )
    compiled = compile_policy(text, params={"p": value})
    assert compiled.program is None
    assert {finding.code for finding in compiled.diagnostics} & {"KP103", "KP122", "KP123", "KP124"}


@pytest.mark.parametrize("depth", [60, 5_000, 200_000])
def test_a_variable_of_any_depth_has_a_value_or_a_code(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    evaluated = evaluate("x.size() == 1", {"x": value})
    assert evaluated.error is None or evaluated.error.code == "bad_request"
    assert json.dumps(evaluated.line())
