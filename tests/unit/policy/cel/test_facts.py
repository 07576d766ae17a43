"""A path that is no fact by itself is refused by the compiler, at its place, not by the engine."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from kpolicy import Source, compile_policy
from kpolicy.engine import Engine
from kpolicy.policy.cel.facts import API_ROOTS, CATALOGUE, PATHS_ONLY, Member
from kpolicy.policy.compile import Compiled

ARGUMENTS = {
    "string": "'zone'",
    "selector": "selector({'a': 'b'})",
    "Taint": "node.taints[0]",
    "list": "[]",
}
STEPS_MAX = 4
STEPS = {
    "pod",
    "node",
    "node.domain('zone')",
    "node.domain('zone').pods",
    "cluster",
    "cluster.pods",
    "namespaceObject",
    "victim",
    "node.devices",
    "node.gpus",
    "allocation",
    "allocation.all",
    "allocation.before",
    "allocation.left",
    "tenant",
    "queue",
}
# Roots that predicates do not know, and the place of a policy that knows each.
PLACES = {
    "victim": "victims",
    "allocation": "devices",
    "tenant": "queue",
    "queue": "queue",
}


def paths(path: str, kind: str, steps: int = 0) -> Iterator[str]:
    """Everything that can be asked, from a root on."""
    yield path
    described = CATALOGUE.types.get(kind)
    if described is None or steps == STEPS_MAX:
        return
    for name, member in described.members.items():
        if member.by_api_path and path not in API_ROOTS:
            continue
        if member.told_of and path not in member.told_of:
            continue
        asked = f"{name}({arguments(member)})" if member.method else name
        yield from paths(f"{path}.{asked}", member.result.name, steps + 1)


def arguments(member: Member) -> str:
    if member.of_root:
        return member.of_root
    needed = member.params[: len(member.params) - member.optional]
    return ", ".join(ARGUMENTS[param.name] for param in needed)


@cache
def all_paths() -> tuple[str, ...]:
    return tuple(path for name, root in CATALOGUE.roots.items() for path in paths(name, root.type))


def place_of(expression: str) -> str:
    root = re.match(r"(?:\[|has\()?(\w*)", expression)
    return PLACES.get(root[1], "predicates") if root is not None else "predicates"


def policy(expression: str, variable: str = "") -> str:
    place = place_of(expression)
    text = "true" if place != "predicates" else expression
    rule = {"name": "a", "expression": text, "message": "no"}
    spec: dict[str, object] = {"profiles": [{"schedulerName": "kpolicy"}], "predicates": [rule]}
    if place == "victims":
        spec["preemption"] = {"victims": {"expression": expression}}
    if place == "devices":
        scored = {"name": "b", "expression": f"{expression} ? 1 : 0"}
        spec["devices"] = {"score": [scored]}
    if place == "queue":
        ordered = {"expression": f"{expression} ? 1 : 0"}
        spec["queue"] = {"order": ordered, "holds": [{"name": "c", "when": expression}]}
    if variable:
        spec["variables"] = [{"name": "held", "expression": variable}]
    head = {"apiVersion": "kpolicy.dev/v1alpha1", "kind": "SchedulingPolicy"}
    document = {**head, "metadata": {"name": "p"}, "spec": spec}
    return json.dumps(document)


def compiled(expression: str, variable: str = "") -> Compiled:
    return compile_policy([Source("policy.yaml", policy(expression, variable))])


def codes(found: Compiled) -> set[str]:
    return {finding.code for finding in found.diagnostics}


def test_every_path_that_compiles_is_taken_by_the_engine() -> None:
    assert len(all_paths()) > 260
    checked, stepped = 0, set()
    for path in all_paths():
        found = compiled(f"[{path}].size() == 1")
        if found.program is None:
            assert "KP209" in codes(found), (path, found.diagnostics)
            stepped.add(path)
            continue
        assert Engine().load(found.program.bytes) == [], path
        checked += 1
    assert stepped == STEPS
    assert checked == len(all_paths()) - len(STEPS)


def test_every_root_has_a_place_that_knows_it() -> None:
    """Or the paths of the others would only be seen refused."""
    programs: Counter[str] = Counter()
    for path in all_paths():
        root = path.split(".")[0]
        if root in PLACES and compiled(f"[{path}].size() == 1").program is not None:
            programs[root] += 1
    assert programs.keys() == PLACES.keys()
    assert programs["tenant"] == 8
    assert programs["queue"] == 2
    assert programs["allocation"] == 10


def test_what_is_there_is_asked_of_what_the_engine_answers() -> None:
    asked = 0
    for path in all_paths():
        found = compiled(f"has({path})")
        if found.program is not None:
            assert Engine().load(found.program.bytes) == [], path
            asked += 1
    assert asked > 150


def test_the_list_of_steps_names_paths() -> None:
    short = {path.replace("('zone')", "") for path in all_paths()}
    assert short >= PATHS_ONLY


@pytest.mark.parametrize(
    ("variable", "expression"),
    [
        ("node.domain('zone')", "variables.held.pods.count(selector({'a': 'b'})) < 3"),
        ("cluster", "variables.held.nodeCount > 3"),
        ("pod", "variables.held.priority > 3"),
        ("node.domain('zone').pods", "variables.held.size() > 3"),
    ],
)
def test_a_variable_may_hold_a_domain(variable: str, expression: str) -> None:
    found = compiled(expression, variable)
    assert found.program is not None, found.diagnostics
    assert Engine().load(found.program.bytes) == []


@pytest.mark.parametrize(
    ("variable", "expression", "cited"),
    [
        ("node.domain('zone')", "[variables.held].size() == 1", "variables.held"),
        ("[node.domain('zone')]", "variables.held.size() == 1", "node.domain('zone')"),
        ("", "cluster.pods.exists(p, p.priority > 3)", "cluster.pods"),
        ("", "node.pods == node.domain('zone').pods", "node.domain('zone').pods"),
        ("", "pod == pod", "pod"),
    ],
)
def test_where_a_value_is_wanted_it_is_refused(variable: str, expression: str, cited: str) -> None:
    found = compiled(expression, variable)
    assert found.program is None
    (reported, *_) = [finding for finding in found.diagnostics if finding.code == "KP209"]
    assert reported.hint.startswith("ask for what it holds: `")
    assert reported.place is not None
    text = policy(expression, variable)
    assert text[reported.place.column - 1 : reported.place.end_column - 1] == cited
