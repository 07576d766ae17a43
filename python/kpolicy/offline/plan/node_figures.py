"""Makes the measures of nodes from the objects of a snapshot and from where pods are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.answers.diff_overview import NO_VALUE, usual_labels
from kpolicy.offline.fragmentation import UsualPods, Vector
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
_MILLI: Final = 1_000
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
    offered = sorted({name for amounts in nodes.values() for name in amounts})
    # Also what no node has: a pod that asks for it fits nowhere.
    others = sorted({name for amounts in pods for name in amounts} - set(offered))
    names = (*offered, *others)
    usual = UsualPods.of(Counter(_vector(amounts, names) for amounts in pods), len(names))
    sums: dict[str, list[tuple[float, float, float]]] = {name: [] for name in offered}
    for held in used:
        free = [_vector(_left(nodes[node], held[node]), names) for node in sorted(takes_pods)]
        stranded = usual.stranded((each, True) for each in free)
        for position, name in enumerate(offered):
            held_sum = sum(on[name] for on in held.values() if name in on)
            free_sum = sum(each[position] for each in free)
            sums[name].append((held_sum, free_sum / _MILLI, stranded[position] / _MILLI))
    return {
        name: ResourceUse(
            sum(amounts.get(name, 0.0) for amounts in nodes.values()),
            *(Triple(*each) for each in zip(*sums[name], strict=True)),
        )
        for name in offered
    }


def _left(amounts: Amounts, used: Amounts) -> dict[str, float]:
    return {name: max(0.0, amount - used.get(name, 0.0)) for name, amount in amounts.items()}


def _vector(amounts: Amounts, names: Sequence[str]) -> Vector:
    return tuple(round(amounts.get(name, 0.0) * _MILLI) for name in names)


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
