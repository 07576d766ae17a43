"""Nodes and pods of a scenario, and the cluster that they form at some moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kpolicy.testing import builders
from tests.simulation.policies import PROFILE


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    milli_cpu: int
    mebibytes: int
    pods: int
    pool: str
    zone: str
    is_cordoned: bool = False

    def body(self) -> dict[str, Any]:
        return builders.node(
            self.name,
            f"{self.milli_cpu}m",
            f"{self.mebibytes}Mi",
            self.pods,
            {"pool": self.pool, "zone": self.zone},
            unschedulable=self.is_cordoned,
        )


@dataclass(frozen=True, slots=True)
class Pod:
    """`labels`: `team` and `pool` always, others where rules look for them."""

    name: str
    namespace: str
    milli_cpu: int
    mebibytes: int
    labels: Mapping[str, str] = field(hash=False)
    priority: int = 0
    is_gated: bool = False
    runs_on: str = ""

    def body(self) -> dict[str, Any]:
        return builders.pod(
            self.name,
            self.namespace,
            f"{self.milli_cpu}m" if self.milli_cpu else None,
            f"{self.mebibytes}Mi" if self.mebibytes else None,
            PROFILE,
            labels=self.labels,
            priority=self.priority,
            scheduling_gates=("wait",) if self.is_gated else (),
            node_name=self.runs_on or None,
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """`placed`: the pods on nodes, also those that are being deleted, and the node of each;
    `nominated`: the pods for which others were evicted."""

    nodes: tuple[Node, ...]
    placed: Mapping[Pod, str] = field(default_factory=dict)
    nominated: Mapping[Pod, str] = field(default_factory=dict)

    def on(self, node: Node) -> list[Pod]:
        return [pod for pod, name in self.placed.items() if name == node.name]

    def of_namespace(self, namespace: str) -> list[Pod]:
        return [pod for pod in self.placed if pod.namespace == namespace]

    def as_seen_by(self, pod: Pod) -> Cluster:
        """With the nominated pods that it must leave room for."""
        before = {
            other: name
            for other, name in self.nominated.items()
            if other != pod and other.priority >= pod.priority
        }
        return replace(self, placed={**self.placed, **before})

    def without(self, is_gone: Callable[[Pod], bool]) -> Cluster:
        kept = {pod: name for pod, name in self.placed.items() if not is_gone(pod)}
        return replace(self, placed=kept)
