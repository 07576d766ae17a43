"""The plan over one snapshot: both policies decide about its pending pods, or about all pods that
they serve, as if these had come one after the other to the nodes of the snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kpolicy.offline.answers.pod_decisions import SimulatedPod
from kpolicy.offline.plan.node_columns import Column
from kpolicy.offline.plan.node_figures import node_figures
from kpolicy.offline.plan.plan_cluster import PlanCluster, all_pending
from kpolicy.offline.plan.plan_model import (
    Cause,
    Change,
    Classes,
    Counts,
    InputPlan,
    PodChanged,
    PodClass,
    Side,
)
from kpolicy.offline.plan.side_by_side import DecidedTwice, decided_twice
from kpolicy.offline.snapshots.cluster_snapshot import Progress, Snapshot
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import EVERY_POD
from kpolicy.quick_dataclass import dataclass

# A snapshot without nodes: nothing of it could change.
NO_NODES: Final = "NoNodes"


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """`labels`: those by which pods are counted, the usual ones if there are none. `all_pods`: pods
    that are on nodes are placed again too."""

    labels: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    all_pods: bool = False
    seed: int = 0


def snapshot_plan(
    snapshot: Snapshot,
    old: Program,
    new: Program,
    *,
    name: str = "",
    options: PlanOptions | None = None,
    progress: Progress | None = None,
) -> InputPlan | Problem:
    """Raises `PolicyRefusedError`. A problem is one because of which there is no plan."""
    asked = options or PlanOptions()
    if asked.all_pods:
        served = {*old.scheduler_names, *new.scheduler_names}
        snapshot = all_pending(snapshot, lambda who: EVERY_POD in served or who in served)
    cluster = PlanCluster()
    held = snapshot.walk(cluster.see)
    if not cluster.nodes:
        message = "there is no node in it, so that no pod can be placed"
        hint = "record nodes too: `kpolicy snapshot record`, or `kubectl get nodes,pods -A -o json`"
        return Problem(NO_NODES, name, "", message, hint)
    columns: dict[str, dict[str, float]] = {}
    for column in asked.columns:
        values = column.values(cluster.nodes, name)
        if isinstance(values, Problem):
            return values
        columns[column.name] = values
    pairs = decided_twice(snapshot, old, new, seed=asked.seed, progress=progress)
    placements = [
        (
            pair.pod.uid,
            pair.old.node if pair.old is not None else "",
            pair.new.node if pair.new is not None else "",
        )
        for pair in pairs
    ]
    figures = node_figures(cluster, held, placements, labels=asked.labels, columns=columns)
    changes = [*_changes(cluster, pairs), *_evictions(cluster, pairs)]
    return InputPlan(
        "snapshot",
        name,
        _classes(cluster, pairs, changes),
        tuple(changes),
        figures.measures,
        figures.nodes,
        snapshot.now_ns,
        snapshot.now_ns,
    )


def _changes(cluster: PlanCluster, pairs: Sequence[DecidedTwice]) -> Iterator[PodChanged]:
    for pair in pairs:
        old, new = (side.node if side is not None else "" for side in (pair.old, pair.new))
        if old == new:
            continue
        change = Change.MOVED if old and new else Change.PLACED if new else Change.PARKED
        on_none = pair.new if old else pair.old
        message = "" if old and new else on_none.message if on_none else _NOT_SERVED
        yield PodChanged(
            pair.pod.pod,
            _class_of(cluster, pair.pod.pod),
            change,
            Cause.RULES if pair.is_by_rules else Cause.INDIRECT,
            old,
            new,
            pair.rule if pair.is_by_rules else "",
            message,
        )


_NOT_SERVED: Final = "no profile serves the pod"


def _class_of(cluster: PlanCluster, pod: str) -> PodClass:
    return cluster.class_of.get(pod) or PodClass(pod)


def _victims(pods: Sequence[SimulatedPod | None]) -> dict[str, SimulatedPod]:
    """By `namespace/name` of who is evicted: for which pod."""
    return {victim: pod for pod in pods if pod is not None for victim in pod.victims}


def _evictions(cluster: PlanCluster, pairs: Sequence[DecidedTwice]) -> Iterator[PodChanged]:
    """Pods that only the new policy evicts."""
    before = _victims([pair.old for pair in pairs])
    by_rules = {pair.pod.pod for pair in pairs if pair.is_by_rules}
    for victim, pod in sorted(_victims([pair.new for pair in pairs]).items()):
        if victim not in before:
            yield PodChanged(
                victim,
                _class_of(cluster, victim),
                Change.EVICTED,
                Cause.RULES if pod.pod in by_rules else Cause.INDIRECT,
                pod.nominated_node,
                message=f"for {pod.pod}",
            )


def _classes(
    cluster: PlanCluster, pairs: Sequence[DecidedTwice], changes: Sequence[PodChanged]
) -> Classes:
    pods = Counter(_class_of(cluster, pair.pod.pod) for pair in pairs)
    sides = [
        _side(cluster, [pair.old for pair in pairs]),
        _side(cluster, [pair.new for pair in pairs]),
    ]
    changed: dict[PodClass, Counter[Change]] = {}
    moved_indirectly: Counter[PodClass] = Counter()
    for each in changes:
        if each.change is Change.MOVED and each.cause is Cause.INDIRECT:
            moved_indirectly[each.of] += 1
        else:
            changed.setdefault(each.of, Counter())[each.change] += 1
    return {
        of: Counts(
            pods[of],
            sides[0].get(of, Side()),
            sides[1].get(of, Side()),
            changed.get(of, {}),
            moved_indirectly[of],
        )
        for of in dict.fromkeys((*pods, *sides[0], *sides[1]))
    }


def _side(cluster: PlanCluster, pods: Sequence[SimulatedPod | None]) -> dict[PodClass, Side]:
    found: dict[PodClass, Side] = {}
    placed, parked, evicted = Side(placed=1), Side(parked=1), Side(evicted=1)
    for pod in pods:
        if pod is not None:
            of = _class_of(cluster, pod.pod)
            found[of] = found.get(of, Side()) + (placed if pod.node else parked)
    for victim in _victims(pods):
        of = _class_of(cluster, victim)
        found[of] = found.get(of, Side()) + evicted
    return found
