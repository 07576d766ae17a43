"""How many wakes of parked pods are useless: the pod is decided again and still fits nowhere.

Each workload runs on a cluster that is too small for it, so that most pods are parked. The cluster
then changes a few hundred times, and after each change the pods that it wakes are decided again.
The share depends only on what wakes whom, not on the machine or on how the engine was built.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from kpolicy.engine import Engine, Outcome, Verdict
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.bench.workloads import REPEATED
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import default_program, loaded_engine

SIZE: Final = Size(nodes=6, existing=120, pods=800)
CHANGES: Final = 250
_NOW_NS: Final = 0
# What changes, and how often in a hundred.
_KINDS: Final = {
    "pod deleted": 40,
    "pod relabeled": 10,
    "node labeled": 10,
    "node annotated": 15,
    "node resized": 10,
    "node tainted": 10,
    "node added": 5,
}


@dataclass(frozen=True, slots=True)
class Woken:
    """The wakes of one workload. `useless` of them led to no placement."""

    workload: str
    parked: int
    wakes: int
    useless: int

    @property
    def share(self) -> float:
        return self.useless / self.wakes if self.wakes else 0.0

    def line(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "parked": self.parked,
            "wakes": self.wakes,
            "useless": self.useless,
            "share": round(self.share, 4),
        }


@dataclass(slots=True)
class _Cluster:
    """A cluster that changes, and the engine that hears of it."""

    engine: Engine
    nodes: list[dict[str, Any]]
    on_nodes: list[dict[str, Any]]
    pending: dict[str, dict[str, Any]]
    chance: Random = field(default_factory=lambda: Random(15))
    wakes: int = 0
    useless: int = 0

    def decide(self, uids: Sequence[str]) -> int:
        """Decides these pods, evicts the victims, and confirms the placed pods.

        Returns how many pods are placed."""
        decisions = self.engine.schedule(uids, _NOW_NS).decisions
        for victim in [victim.uid for decision in decisions for victim in decision.victims]:
            self.evict(victim)
        placed = [decision for decision in decisions if decision.verdict == Verdict.PLACED]
        for decision in placed:
            pod = self.pending.pop(decision.uid)
            pod["spec"]["nodeName"] = decision.node
            self.on_nodes.append(pod)
            self.engine.settle([(decision.uid, Outcome.BOUND)], _NOW_NS)
            self.show("MODIFIED", "pods", pod)
        return len(placed)

    def evict(self, uid: str) -> None:
        for pod in [pod for pod in self.on_nodes if pod["metadata"]["uid"] == uid]:
            self.on_nodes.remove(pod)
            self.show("DELETED", "pods", pod)

    def show(self, event: str, resource: str, item: dict[str, Any]) -> None:
        """The watch sends an event; pods that it wakes are decided at once."""
        line = json.dumps({"type": event, "object": item}).encode() + b"\n"
        woken = [wake.uid for wake in self.engine.watch(resource, line, _NOW_NS).wakes]
        if woken:
            placed = self.decide(woken)
            self.wakes += len(woken)
            self.useless += len(woken) - placed

    def change(self) -> None:
        (kind,) = self.chance.choices(list(_KINDS), list(_KINDS.values()))
        if kind == "node added":
            template = generated_cluster.node() % generated_cluster.node_words(len(self.nodes))
            self.nodes.append(json.loads(template))
            self.show("ADDED", "nodes", self.nodes[-1])
        elif kind.startswith("node"):
            node = self.chance.choice(self.nodes)
            self._change_node(kind, node)
            self.show("MODIFIED", "nodes", node)
        elif self.on_nodes:
            pod = self.chance.choice(self.on_nodes)
            if kind == "pod deleted":
                self.on_nodes.remove(pod)
                self.show("DELETED", "pods", pod)
            else:
                pod["metadata"]["labels"]["app"] = f"app-{self.chance.randrange(10)}"
                self.show("MODIFIED", "pods", pod)

    def _change_node(self, kind: str, node: dict[str, Any]) -> None:
        number = str(self.chance.randrange(1_000))
        if kind == "node labeled":
            node["metadata"]["labels"]["example.com/rack"] = number
        elif kind == "node annotated":
            node["metadata"]["annotations"] = {"example.com/seen": number}
        elif kind == "node resized":
            cpu = str(self.chance.randrange(24, 41))
            node["status"]["allocatable"] = {**node["status"]["allocatable"], "cpu": cpu}
        else:
            taint = {"key": "example.com/busy", "value": number, "effect": "NoSchedule"}
            node["spec"]["taints"] = [] if node["spec"].get("taints") else [taint]


def measure(size: Size = SIZE, changes: int = CHANGES) -> list[Woken]:
    return [measure_one(workload, size, changes) for workload in sorted(REPEATED)]


def table(rows: Sequence[Woken]) -> list[str]:
    wakes, useless = sum(row.wakes for row in rows), sum(row.useless for row in rows)
    everything = Woken("all", sum(row.parked for row in rows), wakes, useless)
    headings = ["workload", "parked", "wakes", "useless", "share"]
    cells = [
        [row.workload, f"{row.parked:,}", f"{row.wakes:,}", f"{row.useless:,}", f"{row.share:.1%}"]
        for row in [*rows, everything]
    ]
    return columns([headings, *cells], right=range(1, len(headings)))


def measure_one(workload: str, size: Size, changes: int) -> Woken:
    engine = loaded_engine(default_program(), 0)
    for body in generated_cluster.bodies(workload, size):
        unreadable = engine.load_objects(body, workload)
        assert not unreadable, unreadable[:1]
    pending = {
        pod["metadata"]["uid"]: pod for pod in _read(generated_cluster.waiting, workload, size)
    }
    cluster = _Cluster(
        engine,
        [json.loads(text) for text in generated_cluster.nodes(size)],
        list(_read(generated_cluster.existing, workload, size)),
        pending,
    )
    cluster.decide(list(pending))
    parked = len(cluster.pending)
    for _ in range(changes):
        cluster.change()
    return Woken(workload, parked, cluster.wakes, cluster.useless)


def _read(
    generate: Callable[[str, Size], Iterable[str]], workload: str, size: Size
) -> Iterable[dict[str, Any]]:
    for text in generate(workload, size):
        yield json.loads(text)
