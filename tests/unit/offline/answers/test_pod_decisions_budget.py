"""What the rules of shipped policies and of the documents really spend, against 250 units a node.

The cluster is as large as one in which expressions get 250 units a node. Its first nodes have 40
pods each, as many as a busy node has; what the others have does not change what a node may spend.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kpolicy import Program, Snapshot, compile_policy
from kpolicy.engine import Engine
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod

ROOT = Path(__file__).parents[4]
# More than 4,096 count as 8,192.
NODES = 4_100
BUSY = 3
PODS = 40
PENDING: Final[tuple[dict[str, Any], ...]] = (
    {"labels": {"app": "web", "team": "ml", "tenant": "a", "licence": "cad"}, "priority": 100},
    {"labels": {"app": "db"}, "node_selector": {"zone": "z1"}, "priority": -1},
    {},
)


def policies() -> list[Path]:
    shipped = sorted((ROOT / "policies").glob("*.yaml"))
    examples = sorted((ROOT / "docs" / "examples").glob("*.yaml"))
    written = [path for path in (*shipped, *examples) if ".test." not in path.name]
    return [path for path in written if "kind: SchedulingPolicy" in path.read_text()]


def cluster(nodes: int) -> list[dict[str, Any]]:
    labels = ("zone", "topology.kubernetes.io/zone", "gpu", "rack", "licence", "tenant", "pool")
    items = [
        node(f"n{index:04}", cpu="64", labels={key: f"{key[0]}{index % 7}" for key in labels})
        for index in range(nodes)
    ]
    items += [
        pod(
            f"p{index}",
            node_name=f"n{index % BUSY:04}",
            cpu="100m",
            labels={"app": f"a{index}", "team": "ml"},
            priority=index,
        )
        for index in range(BUSY * PODS)
    ]
    return items


@pytest.fixture(scope="module")
def large() -> list[dict[str, Any]]:
    return cluster(NODES)


def compiled(paths: Sequence[Path]) -> Program:
    result = compile_policy([Source(str(path), path.read_text()) for path in paths])
    assert result.program is not None, (paths, result.diagnostics)
    return result.program


def decided(items: list[dict[str, Any]], program: Program) -> dict[str, dict[str, int]]:
    """The counts of each rule after every pending pod has been decided and explained."""
    waiting = [
        pod(f"w{index}", scheduler_name=name, **shape)
        for name in program.scheduler_names
        for index, shape in enumerate(PENDING)
    ]
    engine = Snapshot.of([*items, *waiting]).engine(program)
    engine.schedule([each.uid for each in engine.pending()], 0)
    return dict(json.loads(engine.statistics())["rules"])


def spent(engine: Engine, program: Program) -> dict[str, int]:
    """By rule, what its expression spends on a busy node for the first pending pod."""
    found = {}
    for profile in json.loads(program.bytes)["profiles"]:
        for rule in (*profile["filters"], *profile["scores"]):
            if "expression" in rule:
                request = {"ir": rule["expression"], "variables": {}, "trace": True}
                where = {"pod": "default/w0", "node": "n0000"}
                answer = json.loads(engine.evaluate(json.dumps(request | where).encode(), 0))
                found[rule["name"]] = answer["spent"]
    return found


def test_no_rule_of_a_shipped_policy_or_an_example_is_cut(large: list[dict[str, Any]]) -> None:
    seen = 0
    engine = Snapshot.of([*large[:BUSY], *large[NODES:], pod("w0", **PENDING[0])]).engine()
    for path in policies():
        program = compiled([path])
        units = spent(engine, program)
        print(path.name, units)
        seen += len(units)
        counts = decided(large, program)
        assert {rule: each["costExceeded"] for rule, each in counts.items()} == dict.fromkeys(
            counts, 0
        ), path
    assert seen >= 20


LOOPS = {
    "!node.pods.exists(p, p.labels['app'] == 'none')": 606,
    "!node.pods.exists(p, p.priority > 1000)": 526,
    "node.pods.all(p, p.name != 'x')": 564,
}


def loop(expression: str) -> Program:
    return of_predicates(expression)


def of_predicates(*expressions: str) -> Program:
    rules = "".join(
        f'  - {{name: r{index or ""}, expression: "{expression}"}}\n'
        for index, expression in enumerate(expressions)
    )
    text = (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n"
        "  profiles: [{schedulerName: kpolicy}]\n  tieBreak: name\n"
        f"  predicates:\n{rules}"
    )
    result = compile_policy(text)
    assert result.program is not None, result.diagnostics
    return result.program


def test_forty_small_rules_are_not_cut(large: list[dict[str, Any]]) -> None:
    """What is worked out for all nodes side by side is cheap, and counts as that."""
    expressions = [
        f"label(node, 'zone') in ['z0', 'z{index}'] || node.free('cpu') >= {index}"
        for index in range(40)
    ]
    counts = decided(large, of_predicates(*expressions))
    assert len(counts) == 40
    assert {each["costExceeded"] for each in counts.values()} == {0}


@pytest.mark.parametrize("expression", LOOPS)
def test_a_loop_over_40_pods_fits_up_to_2_048_nodes(
    large: list[dict[str, Any]], expression: str
) -> None:
    """What one loop over 40 pods takes is half of a decision, so that no split leaves room for it
    in larger clusters: it is evaluated twice at the most."""
    program = loop(expression)
    small = [*large[:2_048], *large[NODES:]]
    engine = Snapshot.of([*small[:BUSY], *large[NODES:], pod("w0")]).engine()
    assert spent(engine, program) == {"r": LOOPS[expression]}
    assert decided(small, program)["kpolicy/r"]["costExceeded"] == 0
    assert decided(large, program)["kpolicy/r"]["costExceeded"] >= BUSY
