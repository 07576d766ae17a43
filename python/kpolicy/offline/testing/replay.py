"""A replay: the pods of a recorded cluster placed again, and how well that went.

Owns which pods are taken, their order, and the figures. Pods that are on nodes are taken off before
the first is placed. What ended, is ending, or belongs to a node's own kubelet stays where it is.
Assumes an engine that holds the cluster. Must not compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.engine import Decision, Engine, PodChange
from kpolicy.offline.json_objects import Json
from kpolicy.offline.kinds import DEFAULT_SCHEDULER, key_of
from kpolicy.offline.limits import BATCH_PODS
from kpolicy.offline.pod_lookup import key_of_pod, queue_order
from kpolicy.offline.snapshot import Snapshot
from kpolicy.offline.testing.model import Replay

_MIRROR: Final = "kubernetes.io/config.mirror"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_QUANTILE: Final = 0.99
_NS_A_MICRO: Final = 1000


@dataclass(frozen=True, slots=True)
class ReplayedPod:
    """`recorded` is the node it was on, empty if it was pending; `node` where it is now."""

    pod: str
    recorded: str
    node: str
    message: str
    score: int
    cycle_ns: int


@dataclass(frozen=True, slots=True)
class Replayed:
    pods: tuple[ReplayedPod, ...] = field(default=())

    @property
    def placed(self) -> int:
        return sum(1 for one in self.pods if one.node)

    @property
    def recorded(self) -> int:
        """Pods that were on a node."""
        return sum(1 for one in self.pods if one.recorded)

    @property
    def changed(self) -> int:
        """Of those, how many are elsewhere now, or nowhere."""
        return sum(1 for one in self.pods if one.recorded and one.node != one.recorded)

    @property
    def p99_cycle_micros(self) -> float:
        """Filtering and scoring, of the slowest pod but one in a hundred."""
        ordered = sorted(one.cycle_ns for one in self.pods)
        if not ordered:
            return 0.0
        return ordered[min(len(ordered) - 1, int(len(ordered) * _QUANTILE))] / _NS_A_MICRO

    def summary(self) -> str:
        """As `kpolicy test` prints it."""
        placed, changed = percent(self.placed, len(self.pods)), percent(self.changed, self.recorded)
        slow = f"p99 {self.p99_cycle_micros / 1000:.1f} ms"
        return f"placed {placed:.1f} %, changed {changed:.1f} %, {slow}"


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def replay(
    engine: Engine, snapshot: Snapshot, wanted: Replay, profile: str, now_ns: int
) -> Replayed:
    recorded: dict[str, str] = {}
    lines: list[str] = []
    for pod in _taken(snapshot, wanted, profile):
        spec = pod.get("spec") or {}
        recorded[key_of(pod)] = spec.get("nodeName") or ""
        if not spec.get("nodeName") and _scheduler(pod) == profile:
            continue
        lines += _lifted(pod, spec, profile)
        if len(lines) >= BATCH_PODS:
            engine.watch("pods", "".join(lines).encode(), now_ns)
            lines.clear()
    engine.watch("pods", "".join(lines).encode(), now_ns)
    pending = [one for one in engine.pending() if key_of_pod(one) in recorded]
    ordered = queue_order(pending) if wanted.order == "queue" else sorted(pending, key=_created)
    uids = [one.uid for one in ordered]
    pods: list[ReplayedPod] = []
    for start in range(0, len(uids), BATCH_PODS):
        batch = engine.schedule(uids[start : start + BATCH_PODS], now_ns)
        pods += [_replayed(one, recorded) for one in batch.decisions]
    return Replayed(tuple(pods))


def _taken(snapshot: Snapshot, wanted: Replay, profile: str) -> Iterator[Json]:
    for _, item in snapshot.objects():
        metadata, status = item.get("metadata"), item.get("status")
        if item.get("kind") != "Pod" or not isinstance(metadata, dict):
            continue
        has_ended = isinstance(status, dict) and status.get("phase") in _ENDED
        stays = metadata.get("deletionTimestamp") or _MIRROR in (metadata.get("annotations") or {})
        if has_ended or stays or not (wanted.every_pod or _scheduler(item) == profile):
            continue
        if wanted.pods == "all" or not (item.get("spec") or {}).get("nodeName"):
            yield item


def _scheduler(pod: Json) -> str:
    return str((pod.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER)


def _lifted(pod: Json, spec: Json, profile: str) -> list[str]:
    """Gone, and come again as pending."""
    without_node = {name: value for name, value in spec.items() if name != "nodeName"}
    pending = {name: value for name, value in pod.items() if name != "status"}
    pending["spec"] = {**without_node, "schedulerName": profile}
    events: tuple[tuple[str, Any], ...] = (("DELETED", pod), ("ADDED", pending))
    return [json.dumps({"type": kind, "object": item}) + "\n" for kind, item in events]


def _created(pod: PodChange) -> tuple[int, str, str]:
    return pod.created_ns, pod.namespace, pod.name


def _replayed(decision: Decision, recorded: dict[str, str]) -> ReplayedPod:
    key = f"{decision.namespace}/{decision.name}"
    return ReplayedPod(
        key,
        recorded[key],
        decision.node,
        decision.message,
        decision.score,
        decision.took_ns,
    )
