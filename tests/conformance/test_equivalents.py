"""An expression that means what a built-in means decides what kube-scheduler decided.

All golden cases of kube-scheduler 1.36 are asked, pod by pod and node by node; what an expression
does not cover (affinity of several terms, extended resources) is left out by rule and counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from benches.equivalents import EQUIVALENTS, Equivalent, named, policy
from kpolicy import compile_policy
from kpolicy.engine import Engine
from tests.conformance import golden

Json = dict[str, Any]
# The number of compared verdicts, of rejections among them, and of pods that are left out.
COUNTS = {
    "taints": (16830, 3381, 246),
    "node selector": (14882, 346, 413),
    "required node affinity": (14768, 184, 425),
    "resources": (13713, 4040, 498),
    "resources, one by one": (12853, 3276, 582),
}


@dataclass(slots=True)
class Tally:
    compared: int = 0
    rejected: int = 0
    left_out: int = 0


def _explained(equivalent: Equivalent, cluster: Json) -> dict[str, Json]:
    compiled = compile_policy(policy(named("same", equivalent.expression)), every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    engine = Engine(seed=1)
    assert engine.load(compiled.program.bytes) == []
    assert engine.load_objects(json.dumps(cluster).encode(), "") == []
    lines = engine.explain(b'{"pods": null}', 0).splitlines()
    return {answer["pod"]: answer for answer in map(json.loads, lines)}


def _rejecting(node: Json, plugin: str) -> bool:
    return any(verdict["plugin"] == plugin for verdict in node.get("allFilters") or ())


def _compare(equivalent: Equivalent, case: golden.Case, tally: Tally) -> list[str]:
    pods = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item
        for item in case.cluster["items"]
        if item["kind"] == "Pod"
    }
    answers = _explained(equivalent, case.cluster)
    wrong: list[str] = []
    for wanted in case.expected:
        # If a pod is rejected before any node is checked, kube-scheduler's plugins have no
        # verdicts.
        before = "preEnqueue" in wanted or "preFilter" in wanted
        if before or not equivalent.holds_for(pods[wanted["pod"]]):
            tally.left_out += 1
            continue
        ours = {node["name"]: node for node in answers[wanted["pod"]]["nodes"]}
        for node in wanted["nodes"]:
            if node.get("filter", {}).get("plugin") == "PreFilter":
                # For nodes outside of another plugin's PreFilter result, the plugin was not called.
                continue
            theirs = _rejecting(node, equivalent.builtin)
            tally.compared += 1
            tally.rejected += theirs
            if _rejecting(ours[node["name"]], "same") != theirs:
                wrong.append(f"{case.name} {wanted['pod']} {node['name']}: wanted {theirs}")
    return wrong


@pytest.mark.parametrize(
    "equivalent", EQUIVALENTS, ids=[equivalent.about for equivalent in EQUIVALENTS]
)
def test_the_expression_decides_as_the_built_in(equivalent: Equivalent) -> None:
    tally, wrong = Tally(), []
    names = golden.case_names()
    assert len(names) == 132
    for name in names:
        case = golden.read(name)
        if equivalent.builtin in case.config:
            # With arguments, the built-in means something else.
            tally.left_out += len(case.expected)
            continue
        wrong += _compare(equivalent, case, tally)
    assert wrong == [], f"{len(wrong)} differ, first: {wrong[:10]}"
    assert (tally.compared, tally.rejected, tally.left_out) == COUNTS[equivalent.about]
