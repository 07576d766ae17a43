"""Measures what one more predicate, written as an expression, costs a decision.

The shipped policy runs with one predicate, and with ten more of the same kind; the difference is
the cost of ten predicates. Each pod has its own priority, which all predicates read, so its shape
is new. The next pod has the same priority, so its shape was seen before. Times are processor time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any, Final

from kpolicy.engine import Engine, Verdict
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy

NODES: Final = 5_000
SHAPES: Final = 200
ROUNDS: Final = 5
MORE: Final = 10
REACH_US: Final = 15.0
# The facts that each predicate reads: the pod's priority, labels and free resources of nodes.
PREDICATES: Final = (
    ("a label", "pod.priority < {limit} || label(node, 'disk') == 'ssd'"),
    ("a label and a list", "pod.priority < {limit} || label(node, 'disk') in ['ssd', 'hdd']"),
    (
        "two labels and free cpu",
        (
            "pod.priority < {limit} || (label(node, 'disk') == 'ssd' && "
            "label(node, 'node.kubernetes.io/instance-type') != 'type-3') || "
            "node.free('cpu') >= 2 * pod.request('cpu')"
        ),
    ),
)

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of one predicate in one decision; the median of several rounds."""

    about: str
    expression: str
    first_us: float
    again_us: float

    def line(self) -> Figures:
        return {
            "about": self.about,
            "expression": self.expression,
            "firstUs": round(self.first_us, 2),
            "againUs": round(self.again_us, 2),
        }


def measure(nodes: int = NODES, shapes: int = SHAPES, rounds: int = ROUNDS) -> list[Cost]:
    return [_measure_one(*predicate, nodes, shapes, rounds) for predicate in PREDICATES]


def table(costs: list[Cost]) -> list[str]:
    rows = [["predicate", "first µs", "again µs"]]
    rows += [[cost.about, f"{cost.first_us:.2f}", f"{cost.again_us:.2f}"] for cost in costs]
    return [*columns(rows, right=(1, 2)), f"to reach: {REACH_US:.0f} µs for the first of a shape"]


def _measure_one(about: str, expression: str, nodes: int, shapes: int, rounds: int) -> Cost:
    fewer, more = (_program(expression, count) for count in (1, 1 + MORE))
    pairs = [(_round(fewer, nodes, shapes), _round(more, nodes, shapes)) for _ in range(rounds)]
    first, again = (
        median((many[which] - few[which]) / MORE for few, many in pairs) for which in (0, 1)
    )
    return Cost(about, expression, first, again)


def _program(expression: str, count: int) -> Program:
    """Predicates that differ in a number, so that no two are equal."""
    predicates = "".join(
        f'    - {{name: rule-{number}, expression: "{expression.format(limit=-1 - number)}"}}\n'
        for number in range(count)
    )
    text = (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: measured}\n"
        "spec:\n  base: kube-scheduler-default\n  profiles:\n"
        "    - schedulerName: default-scheduler\n  predicates:\n" + predicates
    )
    compiled = compile_policy(text, every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def _round(program: Program, nodes: int, shapes: int) -> tuple[float, float]:
    """Microseconds of a decision about a new shape, and about a shape seen before."""
    engine = Engine(seed=1)
    refusals = engine.load(program.bytes)
    if refusals:
        raise PolicyRefusedError(refusals)
    size = generated_cluster.Size(nodes, nodes, 2 * shapes + 1)
    for body in generated_cluster.packed(generated_cluster.nodes(size)):
        engine.load_objects(body, "nodes")
    for body in generated_cluster.packed(generated_cluster.existing("basic", size)):
        engine.load_objects(body, "pods")
    waiting = [
        text.replace('"priority":0', f'"priority":{index // 2}')
        for index, text in enumerate(islice(generated_cluster.waiting("basic", size), 2 * shapes))
    ]
    engine.load_objects("\n".join(waiting).encode(), "pods")
    took: tuple[list[float], list[float]] = ([], [])
    for index in range(2 * shapes):
        began_ns = time.thread_time_ns()
        [decision] = engine.schedule([generated_cluster.uid(index)], 0).decisions
        took[index % 2].append((time.thread_time_ns() - began_ns) / 1000)
        assert decision.verdict == Verdict.PLACED, decision
    return median(took[0]), median(took[1])
