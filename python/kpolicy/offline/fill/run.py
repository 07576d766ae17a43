"""One run: pods arrive one after the other until their demand exceeds the cluster.

A pod that fits nowhere is dropped. After each whole percent of demand, it is noted how much of all
GPUs is allocated, and how much of them is a fragment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kpolicy.engine import BoundAnnotation, Decision, Engine, Verdict
from kpolicy.offline.fill.recipe import Recipe, arrivals
from kpolicy.offline.fill.trace import (
    INDEX,
    WHOLE,
    Trace,
    TraceNode,
    TracePod,
    names_in_mixed_order,
    node_objects,
    pod_object,
)
from kpolicy.offline.fill.typical_pods import TypicalPod, fragment, typical_pods
from kpolicy.offline.limits import BATCH_PODS
from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError
from kpolicy.policy.assembly.assemble import canonical
from kpolicy.quick_dataclass import dataclass

# Pods whose objects are made at once.
_ARRIVING: Final = 4 * BATCH_PODS
_BUILTIN: Final = "SharedGpus"
_TYPICAL: Final = "typicalPods"


@dataclass(frozen=True, slots=True)
class Filled:
    """`allocated` and `fragments`: at each percent of arrived demand from 0 on, in percent of all
    GPUs."""

    seed: int
    arrived: int
    placed: int
    allocated: tuple[float, ...]
    fragments: tuple[float, ...]


def run_fill(trace: Trace, program: bytes, seed: int, recipe: Recipe | None = None) -> Filled:
    """`program` is that of a policy that serves the scheduler name `kpolicy`. Where its
    `SharedGpus` says nothing of typical pods, those of the trace count. Raises
    `PolicyRefusedError`."""
    recipe = recipe or Recipe()
    typical = typical_pods(trace.pods)
    engine = Engine(seed, threads=1)
    if refusals := engine.load(with_typical_pods(program, typical)):
        raise PolicyRefusedError(refusals)
    in_order = names_in_mixed_order(trace.nodes)
    names = in_order if recipe.mixes_nodes else [node.name for node in trace.nodes]
    _load(engine, list(node_objects(trace, names)))
    cluster = _Cluster(trace, names, typical)
    pods = arrivals(trace, recipe, seed)
    for first, decisions in _decisions(engine, pods, seed):
        for pod, decision in zip(pods[first:], decisions, strict=False):
            cluster.follow(pod, decision)
    return cluster.filled(seed, recipe)


def with_typical_pods(program: bytes, typical: Sequence[TypicalPod]) -> bytes:
    document = json.loads(program)
    for profile in document["profiles"]:
        for rule in (*profile["filters"], *profile["scores"]):
            if rule.get("builtin") == _BUILTIN and not rule["args"].get(_TYPICAL):
                rule["args"][_TYPICAL] = [pod.argument() for pod in typical]
    return canonical(document)


def _load(engine: Engine, items: list[dict[str, Any]]) -> None:
    document = {"apiVersion": "v1", "kind": "List", "items": items}
    unread = engine.load_objects(json.dumps(document).encode(), "trace")
    assert not unread, unread[:1]


def _decisions(
    engine: Engine, pods: Sequence[TracePod], seed: int
) -> Iterator[tuple[int, list[Decision]]]:
    """The position of the first pod of each call, and the decisions."""
    for begin in range(0, len(pods), _ARRIVING):
        arriving = pods[begin : begin + _ARRIVING]
        uids = [_uid(seed, index) for index in range(begin, begin + len(arriving))]
        _load(engine, list(map(pod_object, arriving, uids)))
        done = 0
        while done < len(uids):
            decisions = engine.schedule(uids[done : done + BATCH_PODS], 0).decisions
            yield begin + done, decisions
            done += len(decisions)


def _uid(seed: int, index: int) -> str:
    """Another one in each run, and like those of pods a random one: what is drawn for a pod
    follows from it."""
    return hashlib.sha256(f"{seed}/{index}".encode()).hexdigest()[:32]


class _Cluster:
    """What is left on each node, and the points of the curves so far."""

    def __init__(self, trace: Trace, names: Sequence[str], typical: Sequence[TypicalPod]) -> None:
        self._nodes = {
            name: _Node(node, typical) for name, node in zip(names, trace.nodes, strict=True)
        }
        self._capacity = trace.capacity_milli
        self._demand = 0
        self._allocated = 0
        self._fragment = sum(node.fragment for node in self._nodes.values())
        self._arrived = 0
        self._placed = 0
        self._points: list[tuple[float, float]] = [self._point()]

    def follow(self, pod: TracePod, decision: Decision) -> None:
        self._arrived += 1
        self._demand += pod.demand_milli
        if decision.verdict == Verdict.PLACED:
            self._placed += 1
            self._allocated += pod.demand_milli
            node = self._nodes[decision.node]
            self._fragment -= node.fragment
            node.take(pod, _devices(decision))
            self._fragment += node.fragment
        while self._capacity and len(self._points) * self._capacity <= 100 * self._demand:
            self._points.append(self._point())

    def filled(self, seed: int, recipe: Recipe) -> Filled:
        """Demand may end within the last percent: the last point is that of the end."""
        while len(self._points) <= recipe.demand_percent:
            self._points.append(self._point())
        allocated, fragments = zip(*self._points, strict=True)
        return Filled(seed, self._arrived, self._placed, allocated, fragments)

    def _point(self) -> tuple[float, float]:
        share = 100.0 / max(self._capacity, 1)
        return share * self._allocated, share * self._fragment


class _Node:
    def __init__(self, node: TraceNode, typical: Sequence[TypicalPod]) -> None:
        self._cpu_milli = node.cpu_milli
        self._free = [WHOLE] * node.gpus
        self._model = node.model
        self._typical = typical
        self.fragment = fragment(self._cpu_milli, self._free, self._model, typical)

    def take(self, pod: TracePod, devices: Sequence[int]) -> None:
        self._cpu_milli -= pod.cpu_milli
        for device in devices:
            self._free[device] -= pod.gpu_milli
        assert min(self._free, default=0) >= 0, (self._free, pod)
        self.fragment = fragment(self._cpu_milli, self._free, self._model, self._typical)


def _devices(decision: Decision) -> list[int]:
    for write in decision.writes:
        if isinstance(write, BoundAnnotation) and write.key == INDEX:
            return list(map(int, write.value.split("-")))
    return []
