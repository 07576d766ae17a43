"""`python -m benches.equivalents`: compares the time of a built-in predicate with that of an
expression that decides the same.

A conformance test compares the verdicts of these expressions with kube-scheduler's. The time is
that of a profile with one predicate, minus that of a profile without predicates. It is taken twice:
for the first pod of a shape, and for a pod of a shape that was seen before. Times are processor
time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any, Final

from kpolicy.engine import Engine, Verdict
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.workloads import DISK
from kpolicy.offline.reports.columns import columns
from kpolicy.policy.compile import compile_policy

Pod = Mapping[str, Any]

_HARD: Final = "['NoSchedule', 'NoExecute']"
_TAINTS: Final = f"node.taints.all(t, !(t.effect in {_HARD}) || pod.tolerates(t))"
_SELECTOR: Final = (
    "!has(pod.spec.nodeSelector) || pod.spec.nodeSelector.all(k, "
    "k in node.labels && node.labels[k] == pod.spec.nodeSelector[k])"
)
_REQUIRED: Final = "pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_AFFINITY: Final = (
    f"!has({_REQUIRED}) || {_REQUIRED}.nodeSelectorTerms[0].matchExpressions.all(e, "
    "e.operator == 'In' ? (e.key in node.labels && node.labels[e.key] in e.values) : "
    "e.operator == 'NotIn' ? !(e.key in node.labels && node.labels[e.key] in e.values) : "
    "(e.key in node.labels) == (e.operator == 'Exists'))"
)
_RESOURCES: Final = " && ".join(
    [
        "node.podCount < node.podLimit",
        *(
            f"(pod.request('{name}') <= 0 || pod.request('{name}') <= node.free('{name}'))"
            for name in ("cpu", "memory", "ephemeral-storage")
        ),
    ]
)


def _every_pod(pod: Pod) -> bool:
    return True


def _required(pod: Pod) -> Mapping[str, Any]:
    affinity = pod["spec"].get("affinity") or {}
    found: Mapping[str, Any] = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return found


def _only_selects(pod: Pod) -> bool:
    return not _required(pod)


def _one_plain_term(pod: Pod) -> bool:
    """Whether the pod has only one node affinity term, without Gt and Lt, and no node selector."""
    if pod["spec"].get("nodeSelector"):
        return False
    if not (required := _required(pod)):
        return True
    terms = required.get("nodeSelectorTerms") or []
    plain = ("In", "NotIn", "Exists", "DoesNotExist")
    return (
        len(terms) == 1
        and "matchFields" not in terms[0]
        and bool(terms[0].get("matchExpressions"))
        and all(
            matchexpression["operator"] in plain for matchexpression in terms[0]["matchExpressions"]
        )
    )


def _common_resources(pod: Pod) -> bool:
    spec = pod["spec"]
    containers = [*spec["containers"], *(spec.get("initContainers") or [])]
    asked = {
        name
        for container in containers
        for name in (container.get("resources") or {}).get("requests") or {}
    }
    return asked <= {"cpu", "memory", "ephemeral-storage"}


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A built-in and its expression. `holds_for` selects the pods for which both agree on every
    node."""

    about: str
    builtin: str
    expression: str
    holds_for: Callable[[Pod], bool] = _every_pod


EQUIVALENTS: Final = (
    Equivalent("taints", "TaintToleration", _TAINTS),
    Equivalent("node selector", "NodeAffinity", _SELECTOR, _only_selects),
    Equivalent("required node affinity", "NodeAffinity", _AFFINITY, _one_plain_term),
    Equivalent("resources", "NodeResourcesFit", "node.fits(pod)"),
    Equivalent("resources, one by one", "NodeResourcesFit", _RESOURCES, _common_resources),
)


def policy(*predicates: str) -> str:
    """A policy with only these predicates. Each is the content of a YAML flow mapping."""
    lines = "".join(f"    - {{{predicate}}}\n" for predicate in predicates)
    return (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: compared}\n"
        "spec:\n  base: none\n  profiles:\n    - schedulerName: default-scheduler\n"
        + (f"  predicates:\n{lines}" if lines else "")
    )


def named(name: str, expression: str) -> str:
    return f'name: {name}, expression: "{expression}"'


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds that one predicate adds to a decision."""

    about: str
    builtin: tuple[float, float]
    expression: tuple[float, float]


def measure(nodes: int, shapes: int, rounds: int) -> list[Cost]:
    def least(text: str) -> tuple[float, float]:
        found = [_round(text, nodes, shapes) for _ in range(rounds)]
        return min(row[0] for row in found), min(row[1] for row in found)

    bare = least(policy())

    def added(text: str) -> tuple[float, float]:
        first, again = least(text)
        return first - bare[0], again - bare[1]

    return [
        Cost(
            equivalent.about,
            added(policy(f"builtin: {equivalent.builtin}")),
            added(policy(named("x", equivalent.expression))),
        )
        for equivalent in EQUIVALENTS
    ]


def _round(text: str, nodes: int, shapes: int) -> tuple[float, float]:
    """Microseconds of a decision about a new shape, and about a shape seen before."""
    program = compile_policy(text, every_pod=True).program
    assert program is not None
    engine = Engine(seed=1)
    assert engine.load(program.bytes) == []
    size = generated_cluster.Size(nodes, nodes, 2 * shapes)
    for body in generated_cluster.packed(generated_cluster.nodes(size)):
        engine.load_objects(body, "nodes")
    for body in generated_cluster.packed(generated_cluster.existing("basic", size)):
        engine.load_objects(body, "pods")
    waiting = islice(generated_cluster.waiting("basic", size), 2 * shapes)
    engine.load_objects("\n".join(map(_own_shape, range(2 * shapes), waiting)).encode(), "pods")
    took: tuple[list[float], list[float]] = ([], [])
    for index in range(2 * shapes):
        began_ns = time.thread_time_ns()
        [decision] = engine.schedule([generated_cluster.uid(index)], 0).decisions
        took[index % 2].append((time.thread_time_ns() - began_ns) / 1000)
        assert decision.verdict == Verdict.PLACED, decision
    return median(took[0]), median(took[1])


def _own_shape(index: int, pod: str) -> str:
    """The pod with requests, tolerations and a selector that only one other pod shares."""
    number = index // 2
    own = (
        f'"tolerations":[{{"key":"t{number}","operator":"Exists"}}],'
        f'"nodeSelector":{{"{DISK}":"{("ssd", "hdd")[number % 2]}"}},'
    )
    return pod.replace('"cpu":"100m"', f'"cpu":"{100 + number}m"').replace(
        '"spec":{', f'"spec":{{{own}', 1
    )


def table(costs: list[Cost]) -> list[str]:
    rows = [["predicate", "built-in", "again", "expression", "again"]]
    rows += [
        [
            cost.about,
            *(f"{value:.1f}" for pair in (cost.builtin, cost.expression) for value in pair),
        ]
        for cost in costs
    ]
    return columns(rows, right=(1, 2, 3, 4))


def main(words: Sequence[str] | None = None) -> None:
    flags = argparse.ArgumentParser(
        prog="python -m benches.equivalents",
        description="What a built-in predicate adds to a decision in µs, and what an expression "
        "that decides the same adds: for the first pod of a shape, and for one of a shape seen "
        "before.",
    )
    flags.add_argument("--nodes", type=int, default=5_000)
    flags.add_argument("--shapes", type=int, default=100)
    flags.add_argument("--rounds", type=int, default=3)
    arguments = flags.parse_args(words)
    print("\n".join(table(measure(arguments.nodes, arguments.shapes, arguments.rounds))))


if __name__ == "__main__":
    main()
