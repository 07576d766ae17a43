"""Makes the measures of nodes from the objects of a snapshot and from where pods are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final

from kpolicy.offline.answers.diff_overview import NO_VALUE, usual_labels
from kpolicy.offline.plan.node_measures import (
    ColumnSum,
    Measures,
    NodeUse,
    ResourceUse,
    Spread,
    Triple,
)
from kpolicy.offline.plan.plan_cluster import PlanCluster, SeenNode
from kpolicy.offline.snapshots.inventory import Entry, Inventory
from kpolicy.quick_dataclass import dataclass

_ZONE: Final = "topology.kubernetes.io/zone"
_RACK: Final = "rack"
# Before, old and new.
_STATES: Final = range(3)

# The uid of a pod, and its nodes under the old and the new policy; empty for none.
Placed = tuple[str, str, str]
Amounts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NodeFigures:
    measures: Measures
    nodes: tuple[NodeUse, ...]


def node_figures(
    cluster: PlanCluster,
    held: Inventory,
    placements: Sequence[Placed],
    *,
    labels: Sequence[str] = (),
    columns: Mapping[str, Mapping[str, float]],
) -> NodeFigures:
    """`labels`: those by which pods are counted; the usual ones if there are none. `columns`:
    values of nodes, by the name of the column."""
    nodes = {entry.key: _floats(entry) for entry in held.nodes()}
    takes_pods = {entry.key for entry in held.nodes() if not entry.is_unschedulable}
    where = _where(cluster, nodes, placements)
    pods = {entry.uid: _floats(entry) for entry in held.pods() if entry.uid in where}
    used = [_used(nodes, pods, where, state) for state in _STATES]
    in_use = [_in_use(cluster, placements, state) & nodes.keys() for state in _STATES]
    measures = Measures(
        _resources(nodes, takes_pods, used, list(pods.values())),
        spread({name: node.labels for name, node in cluster.nodes.items()}, where.values(), labels),
        {name: _column(values, in_use) for name, values in columns.items()},
        len(nodes),
        Triple(*map(len, in_use)),
    )
    return NodeFigures(measures, tuple(_node_uses(cluster, nodes, takes_pods, used, columns)))


def _floats(entry: Entry) -> dict[str, float]:
    return {
        name: amount.numerator / amount.denominator
        for name, amount in entry.amounts.items()
        if amount
    }


Where = tuple[str, str, str]


def _where(
    cluster: PlanCluster, nodes: Mapping[str, Any], placements: Sequence[Placed]
) -> dict[str, Where]:
    """The node of each pod by uid: before, old and new. Pods that are pending are there too."""
    found = {uid: (node, node, node) for uid, node in cluster.node_of.items() if node in nodes}
    found |= {uid: ("", old, new) for uid, old, new in placements}
    return found


def _used(
    nodes: Mapping[str, Amounts],
    pods: Mapping[str, Amounts],
    where: Mapping[str, Where],
    state: int,
) -> dict[str, dict[str, float]]:
    """By node and resource; only resources that nodes have."""
    used = {name: dict.fromkeys(amounts, 0.0) for name, amounts in nodes.items()}
    for uid, amounts in pods.items():
        on = used.get(where[uid][state])
        if on is not None:
            for name, amount in amounts.items():
                if name in on:
                    on[name] += amount
    return used


def _in_use(cluster: PlanCluster, placements: Sequence[Placed], state: int) -> set[str]:
    if not state:
        return cluster.in_use
    return cluster.in_use | {placed[state] for placed in placements}


Used = Sequence[Mapping[str, Mapping[str, float]]]


def _resources(
    nodes: Mapping[str, Amounts], takes_pods: set[str], used: Used, pods: Sequence[Amounts]
) -> dict[str, ResourceUse]:
    names = sorted({name for amounts in nodes.values() for name in amounts})
    return {
        name: _resource(name, nodes, takes_pods, used, typical_pod(name, pods)) for name in names
    }


def typical_pod(resource: str, pods: Sequence[Amounts]) -> dict[str, float]:
    """Of every resource, the median of what those pods ask that ask for this one."""
    asking = [amounts for amounts in pods if amounts.get(resource)]
    names = sorted({name for amounts in asking for name in amounts})
    medians = {name: median(amounts.get(name, 0.0) for amounts in asking) for name in names}
    return {name: amount for name, amount in medians.items() if amount}


def _resource(
    name: str,
    nodes: Mapping[str, Amounts],
    takes_pods: set[str],
    used: Used,
    typical: Amounts,
) -> ResourceUse:
    sums: list[tuple[float, float, float]] = []
    for held in used:
        held_sum = free = stranded = 0.0
        for node, amounts in nodes.items():
            if name not in amounts:
                continue
            of = held[node]
            held_sum += of[name]
            left = amounts[name] - of[name]
            if node in takes_pods and left > 0:
                free += left
                if typical and not _fits(typical, amounts, of):
                    stranded += left
        sums.append((held_sum, free, stranded))
    of_all = sum(amounts.get(name, 0.0) for amounts in nodes.values())
    used_by, free_by, stranded_by = (Triple(*each) for each in zip(*sums, strict=True))
    return ResourceUse(of_all, used_by, free_by, stranded_by, typical)


# Sums of fractions such as 0.1 are a little off.
_SLACK: Final = 1e-9


def _fits(pod: Amounts, node: Amounts, used: Amounts) -> bool:
    return all(
        node.get(name, 0.0) - used.get(name, 0.0) >= amount * (1 - _SLACK)
        for name, amount in pod.items()
    )


def _column(values: Mapping[str, float], in_use: Sequence[set[str]]) -> ColumnSum:
    return ColumnSum(
        Triple(*(float(sum(values.get(node, 0.0) for node in nodes)) for nodes in in_use)),
        Triple(*(len(nodes - values.keys()) for nodes in in_use)),
    )


def spread(
    labels_of: Mapping[str, Mapping[str, Any]], where: Iterable[Where], labels: Sequence[str]
) -> Spread:
    """Pods by label and value of their nodes: every value that a node has, also with no pod."""
    sides = zip(*where, strict=True)
    pods: list[Counter[str]] = [Counter(side) for side in sides] or [Counter()] * len(_STATES)
    found: dict[str, dict[str, Triple]] = {}
    for label in labels or usual_labels(labels_of):
        counts: dict[str, list[int]] = {}
        for node, own in labels_of.items():
            value = str(own.get(label, NO_VALUE))
            sums = counts.setdefault(value, [0, 0, 0])
            for state in _STATES:
                sums[state] += pods[state][node]
        found[label] = {
            value: Triple(*sums)
            for value, sums in sorted(counts.items())
            if value != NO_VALUE or any(sums)
        }
    return found


def _node_uses(
    cluster: PlanCluster,
    nodes: Mapping[str, Amounts],
    takes_pods: set[str],
    used: Used,
    columns: Mapping[str, Mapping[str, float]],
) -> Iterable[NodeUse]:
    for name, amounts in sorted(nodes.items()):
        labels = cluster.nodes.get(name, SeenNode({}, {})).labels
        yield NodeUse(
            name,
            str(labels.get(_ZONE, "")),
            rack_of(labels),
            name in takes_pods,
            amounts,
            {each: Triple(*(state[name][each] for state in used)) for each in amounts},
            {column: values[name] for column, values in columns.items() if name in values},
        )


def rack_of(labels: Mapping[str, Any]) -> str:
    """The value of the first label whose last part is `rack`."""
    keys = sorted(key for key in labels if key.rpartition("/")[2] == _RACK)
    return str(labels[keys[0]]) if keys else ""
