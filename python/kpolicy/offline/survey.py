"""What is in a snapshot, counted: kinds, nodes, pods, resources.

Owns `Survey`, and the finding of doubles and of kinds that are left out. Walks every object in
Python, one at a time; the engine is not asked. Must not decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kpolicy.offline.json_objects import Json
from kpolicy.offline.kinds import DEFAULT_SCHEDULER, is_read, key_of, uid_of
from kpolicy.offline.problem import DUPLICATE, Problem
from kpolicy.offline.requests import ENDED, Amounts, add, allocatable, requested
from kpolicy.offline.snapshot import Snapshot




@dataclass(slots=True)
class Survey:
    """Amounts are in cores, bytes and pieces; `requested` is of pods on nodes."""

    kinds: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    nodes: int = 0
    nodes_unschedulable: int = 0
    node_versions: Counter[str] = field(default_factory=Counter)
    pods: int = 0
    pods_on_nodes: int = 0
    pods_ended: int = 0
    pods_gated: int = 0
    pending_by_scheduler: Counter[str] = field(default_factory=Counter)
    allocatable: Amounts = field(default_factory=dict)
    requested: Amounts = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def pods_pending(self) -> int:
        return self.pending_by_scheduler.total()

    def take(self, item: Json) -> None:
        kind = str(item.get("kind") or "(no kind)")
        if not is_read(item):
            self.left_out[kind] += 1
            return
        self.kinds[kind] += 1
        if kind == "Node":
            self._take_node(item)
        elif kind == "Pod":
            self._take_pod(item)

    def _take_node(self, node: Json) -> None:
        self.nodes += 1
        self.nodes_unschedulable += bool(_part(node, "spec").get("unschedulable"))
        info = _part(_part(node, "status"), "nodeInfo")
        self.node_versions[str(info.get("kubeletVersion") or "(unknown)")] += 1
        add(self.allocatable, allocatable(node))

    def _take_pod(self, pod: Json) -> None:
        self.pods += 1
        spec = _part(pod, "spec")
        if _part(pod, "status").get("phase") in ENDED:
            self.pods_ended += 1
        elif spec.get("nodeName"):
            self.pods_on_nodes += 1
            add(self.requested, requested(pod))
        else:
            self.pods_gated += bool(spec.get("schedulingGates"))
            self.pending_by_scheduler[str(spec.get("schedulerName") or DEFAULT_SCHEDULER)] += 1


def survey(snapshot: Snapshot) -> Survey:
    made = Survey()
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for source, item in snapshot.objects():
        try:
            made.take(item)
            twice = _twice(seen, source, item)
        except (TypeError, AttributeError, ValueError):
            continue  # a part of another form than the API has it, which the engine has named
        if twice is not None:
            made.problems.append(twice)
    return made


def _twice(seen: dict[tuple[str, str], tuple[str, str]], source: str, item: Json) -> Problem | None:
    """Pods are told apart by uid, everything else by its name."""
    if not is_read(item):
        return None
    kind, key, uid = str(item["kind"]), key_of(item), uid_of(item)
    before = seen.get((kind, key))
    seen[kind, key] = (source, uid)
    if before is None:
        return None
    if kind == "Pod" and before[1] != uid:
        message = f"is there twice with different uids, first in {before[0]}; both are used"
    else:
        message = f"is there twice, first in {before[0]}; the last is used"
    return Problem(DUPLICATE, source, f"{kind} {key}", message)


def _part(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = holder.get(name)
    return part if isinstance(part, dict) else {}
