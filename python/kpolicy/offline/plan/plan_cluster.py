"""What a plan reads of the objects of a snapshot: nodes with their labels and columns, on which
node each pod is, and to which class it belongs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final

from kpolicy.offline.answers.diff_overview import controller_of, workload_name
from kpolicy.offline.plan.plan_model import PodClass
from kpolicy.offline.snapshots.cluster_snapshot import (
    Snapshot,
    Text,
    as_pending,
    has_ended,
    node_of,
    scheduler_of,
)
from kpolicy.offline.snapshots.json_objects import Json, key_of, mapping_at, name_of, uid_of
from kpolicy.quick_dataclass import dataclass

# Owners whose pods belong to their nodes: a node is not in use because of them.
_OF_NODES: Final = frozenset({"DaemonSet", "Node"})


@dataclass(frozen=True, slots=True)
class SeenNode:
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanCluster:
    """`node_of`, by uid, has the pods on nodes; `class_of` all pods, by `namespace/name`. `in_use`:
    nodes that have pods which are not of a DaemonSet."""

    nodes: dict[str, SeenNode] = field(default_factory=dict)
    node_of: dict[str, str] = field(default_factory=dict)
    class_of: dict[str, PodClass] = field(default_factory=dict)
    in_use: set[str] = field(default_factory=set)

    def see(self, item: Json) -> None:
        if not isinstance(item.get("metadata"), dict):
            return
        if item.get("kind") == "Node":
            self.nodes[name_of(item)] = seen_node(item)
        elif item.get("kind") == "Pod":
            self._see_pod(item)

    def _see_pod(self, pod: Json) -> None:
        of = class_of_pod(pod)
        self.class_of[key_of(pod)] = of
        node = node_of(pod)
        if node and not has_ended(pod):
            self.node_of[uid_of(pod)] = node
            if of.owner_kind not in _OF_NODES:
                self.in_use.add(node)


def seen_node(node: Json) -> SeenNode:
    metadata = mapping_at(node, "metadata")
    return SeenNode(mapping_at(metadata, "labels"), mapping_at(metadata, "annotations"))


def class_of_pod(pod: Json) -> PodClass:
    priority = mapping_at(pod, "spec").get("priority")
    return PodClass(
        workload_name(pod),
        str(controller_of(pod).get("kind") or ""),
        priority if isinstance(priority, int) else 0,
    )


def all_pending(snapshot: Snapshot, serves: Callable[[str], bool]) -> Snapshot:
    """The same cluster with the served pods taken off their nodes; those of DaemonSets stay."""

    def taken_off(item: Json) -> Json:
        is_there = (
            item.get("kind") == "Pod"
            and isinstance(item.get("metadata"), dict)
            and bool(node_of(item))
            and not has_ended(item)
            and not mapping_at(item, "metadata").get("deletionTimestamp")
            and str(controller_of(item).get("kind")) not in _OF_NODES
            and serves(scheduler_of(item))
        )
        return as_pending(item) if is_there else item

    lines: dict[str, list[str]] = {}
    for source, item in snapshot.objects():
        lines.setdefault(source, []).append(json.dumps(taken_off(item)))
    texts = (Text(source, "\n".join(each).encode()) for source, each in lines.items())
    return Snapshot(
        texts,
        snapshot.file_problems,
        cluster_version=snapshot.cluster_version,
        now_ns=snapshot.now_ns,
    )
