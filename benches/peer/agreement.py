"""Checks that both schedulers find the same nodes with the same scores for every pod, before
anything is timed.

The check goes through the pods along kube-scheduler's placements. For each pod, both report which
nodes pass and how each scores, and both decide. Each must choose one of the other's best nodes.
Then kpolicy's engine gets kube-scheduler's choice. A second check does the same where both look at
only some of the nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benches.peer import ours, theirs
from benches.peer.theirs import Answer
from kpolicy.engine import (
    ClaimWork,
    Decision,
    Engine,
    JudgedNodes,
    KeptNode,
    Outcome,
    Verdict,
)
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.generated_cluster import Size

_NOW_NS: Final = 0
_NODES_SHOWN_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Agreement:
    """`nodes` counts verdicts: every node for every pod; `scores` those nodes that pass."""

    pods: int
    nodes: int
    scores: int
    differences: tuple[str, ...]

    def line(self) -> dict[str, Any]:
        return {
            "pods": self.pods,
            "verdicts": self.nodes,
            "scores": self.scores,
            "differences": list(self.differences),
        }

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.pods + other.pods,
            self.nodes + other.nodes,
            self.scores + other.scores,
            self.differences + other.differences,
        )

    @property
    def sentence(self) -> str:
        differing = len(self.differences)
        return (
            f"same placements possible: {self.pods - differing:,} of {self.pods:,} pods checked "
            f"({self.nodes:,} verdicts, {self.scores:,} scores)"
        )


NOTHING: Final = Agreement(0, 0, 0, ())


def check(binary: Path, workload: str, size: Size, path: Path) -> Agreement:
    """Checks a cluster that is already in the file."""
    return compare(ours.engine_of(path), workload, size, theirs.answers(binary, path))


def check_sampled(binary: Path, workload: str, size: Size, path: Path) -> Agreement:
    """As `check`, where each cycle stops once it has found enough nodes: both find the same."""
    engine = ours.engine_of(path, program=ours.sampling_program())
    return compare_sampled(engine, workload, size, theirs.sampled_answers(binary, path))


def compare_sampled(engine: Engine, workload: str, size: Size, answers: list[Answer]) -> Agreement:
    """`verdicts` counts the nodes that were found."""
    differences: list[str] = []
    if len(answers) != size.pods:
        differences.append(f"{workload}: {len(answers)} answers for {size.pods} pods")
    waiting = generated_cluster.waiting(workload, size)
    for index, (answer, item) in enumerate(zip(answers, waiting, strict=False)):
        uid = generated_cluster.uid(index)
        filtered = engine.filter(uid, _NOW_NS)
        kept = [KeptNode(node) for node in filtered.feasible]
        decision = engine.choose(uid, JudgedNodes(filtered.token, kept), _NOW_NS)
        found = next(_sampled_differences(answer, filtered.feasible, decision), "")
        if found:
            differences.append(f"{workload}, sampled, {answer.pod}: {found}")
        _follow(engine, answer, decision, _afterwards(answer, workload, index, item))
    scores = sum(len(answer.totals) for answer in answers)
    return Agreement(size.pods, scores, scores, tuple(differences))


def _sampled_differences(answer: Answer, found: Sequence[str], decision: Decision) -> Iterator[str]:
    if set(found) != set(answer.totals):
        only_here = sorted(set(found) - set(answer.totals))
        only_there = sorted(set(answer.totals) - set(found))
        yield f"nodes found only here {_few(only_here)}, only there {_few(only_there)}"
        return
    if bool(decision.node) != bool(answer.node):
        yield f"node {decision.node!r} here, {answer.node!r} there"
    elif answer.node:
        highest = max(answer.totals.values())
        best = {name for name, total in answer.totals.items() if total == highest}
        if not {decision.node, answer.node} <= best:
            yield f"{decision.node} here, {answer.node} there, of the best {_few(sorted(best))}"
        if decision.score != highest:
            yield f"{decision.node} scores {decision.score} here, {highest} there"
        yield from _other_devices(answer, decision)
    elif bool(decision.nominated_node) != bool(answer.nominated):
        yield f"room made on {decision.nominated_node!r} here, {answer.nominated!r} there"


def compare(engine: Engine, workload: str, size: Size, answers: list[Answer]) -> Agreement:
    """Compares all pods. After a difference it continues with kube-scheduler's state."""
    differences: list[str] = []
    if len(answers) != size.pods:
        differences.append(f"{workload}: {len(answers)} answers for {size.pods} pods")
    waiting = generated_cluster.waiting(workload, size)
    for index, (answer, item) in enumerate(zip(answers, waiting, strict=False)):
        explained = _explained(engine, answer.pod)
        decision = engine.schedule([generated_cluster.uid(index)], _NOW_NS).decisions[0]
        found = next(_differences(answer, explained, decision), "")
        if found:
            differences.append(f"{workload}, {answer.pod}: {found}")
        _follow(engine, answer, decision, _afterwards(answer, workload, index, item))
    scores = sum(len(answer.totals) for answer in answers)
    return Agreement(size.pods, size.pods * size.nodes, scores, tuple(differences))


def _explained(engine: Engine, pod: str) -> dict[str, Any]:
    line = engine.explain(json.dumps({"pods": [pod]}).encode(), _NOW_NS)
    explained: dict[str, Any] = json.loads(line)
    return explained


def _differences(answer: Answer, explained: Mapping[str, Any], decision: Decision) -> Iterator[str]:
    passing = {node["name"]: node for node in explained["nodes"] if "filter" not in node}
    if set(passing) != set(answer.totals):
        only_here = sorted(set(passing) - set(answer.totals))
        only_there = sorted(set(answer.totals) - set(passing))
        yield f"nodes that pass only here {_few(only_here)}, only there {_few(only_there)}"
        return
    totals = {name: node["total"] for name, node in passing.items()}
    scored = [name for name, total in totals.items() if total != answer.totals[name]]
    if scored:
        name = min(scored)
        there = answer.totals[name]
        yield f"{len(scored)} nodes score differently, {name} {totals[name]} here, {there} there"
    best = {name for name, total in totals.items() if total == max(totals.values())}
    if (decision.verdict == Verdict.PLACED) != bool(answer.node):
        yield f"node {decision.node!r} here, {answer.node!r} there"
    elif answer.node and not {decision.node, answer.node} <= best:
        yield f"{decision.node} here, {answer.node} there, of the best {_few(sorted(best))}"
    yield from _other_devices(answer, decision)
    if answer.message and answer.message != explained.get("message"):
        yield f"message {explained.get('message')!r} here, {answer.message!r} there"
    if bool(decision.nominated_node) != bool(answer.nominated):
        yield f"room made on {decision.nominated_node!r} here, {answer.nominated!r} there"
    elif answer.nominated:
        candidates = explained["preemption"]["candidates"]
        if not {decision.nominated_node, answer.nominated} <= set(candidates):
            yield f"room made on {answer.nominated} there, not among {_few(sorted(candidates))}"


def _other_devices(answer: Answer, decision: Decision) -> Iterator[str]:
    """Where both chose one node, they give the same devices."""
    here = [
        device
        for work in decision.writes
        if isinstance(work, ClaimWork) and work.allocation
        for device in _devices(json.loads(work.allocation))
    ]
    there = [
        device
        for claim in answer.claims
        for device in _devices(claim["status"].get("allocation") or {})
    ]
    if decision.node == answer.node and sorted(here) != sorted(there):
        yield f"devices {_few(sorted(here))} here, {_few(sorted(there))} there"


def _devices(allocation: Mapping[str, Any]) -> list[str]:
    results = (allocation.get("devices") or {}).get("results") or ()
    return [f"{result['pool']}/{result['device']}" for result in results]


def _follow(engine: Engine, answer: Answer, decision: Decision, item: str) -> None:
    """Brings the engine into kube-scheduler's state."""
    if decision.verdict == Verdict.PLACED:
        agreed = decision.node == answer.node
        outcome = Outcome.BOUND if agreed else Outcome.FAILED
        engine.settle([(decision.uid, outcome)], _NOW_NS)
    for claim in answer.claims:
        line = json.dumps({"type": "MODIFIED", "object": claim})
        engine.watch("resourceclaims", f"{line}\n".encode(), _NOW_NS)
    engine.watch("pods", f'{{"type":"MODIFIED","object":{item}}}\n'.encode(), _NOW_NS)


def _afterwards(answer: Answer, workload: str, index: int, waiting: str) -> str:
    """The pod as the API server shows it after kube-scheduler's cycle."""
    if answer.node:
        return generated_cluster.on_node(workload, index, _number(answer.node))
    item = json.loads(waiting)
    item["status"]["nominatedNodeName"] = answer.nominated
    return json.dumps(item)


def _number(node: str) -> int:
    return int(node.rpartition("-")[2])


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_NODES_SHOWN_MAX]) or "none"
    more = len(names) - _NODES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
