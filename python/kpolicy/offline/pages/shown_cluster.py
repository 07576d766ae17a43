"""The nodes of a snapshot as maps show them: zone, rack, and how full they are of each resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kpolicy.offline.answers.diff_overview import workload_name
from kpolicy.offline.limits import PAGE_RESOURCES_MAX
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, has_ended, node_of
from kpolicy.offline.snapshots.inventory import (
    PODS,
    Amounts,
    add,
    allocatable,
    requested,
)
from kpolicy.offline.snapshots.json_objects import Json, key_of, mapping_at, name_of

_ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_RACK: Final = "rack"
# Resources that come first; the number of pods comes last.
_FIRST: Final = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class ShownNode:
    """`has` is what pods may ask of it, `used` what its pods ask."""

    name: str
    zone: str
    rack: str
    has: Amounts
    used: Amounts

    def fullness(self, resource: str) -> float | None:
        """None if it has none of it."""
        has = self.has.get(resource)
        return float(self.used.get(resource, 0) / has) if has else None


@dataclass(frozen=True, slots=True)
class WaitingPod:
    workload: str
    wants: Amounts


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """`waiting` pods are on no node, by `namespace/name`."""

    nodes: Mapping[str, ShownNode]
    waiting: Mapping[str, WaitingPod]

    def resources(self) -> list[str]:
        """Those that pods ask and nodes have, the usual ones first."""
        has: Amounts = {}
        for node in self.nodes.values():
            add(has, node.has)
        wanted = {name for node in self.nodes.values() for name in node.used}
        wanted |= {name for pod in self.waiting.values() for name in pod.wants}
        known = [name for name in has if has[name] and name in wanted]
        return sorted(known, key=_place)[:PAGE_RESOURCES_MAX]

    def with_placed(self, node_of_pod: Mapping[str, str]) -> ShownCluster:
        """With these waiting pods on nodes."""
        nodes = dict(self.nodes)
        for key, name in node_of_pod.items():
            pod, node = self.waiting.get(key), nodes.get(name)
            if pod is not None and node is not None:
                used = dict(node.used)
                add(used, pod.wants)
                nodes[name] = replace(node, used=used)
        return replace(self, nodes=nodes)

    def place_of(self, node: str) -> str:
        """Where a node is, in one word: its zone, else its rack, else the node itself."""
        known = self.nodes.get(node)
        return (known.zone or known.rack or node) if known is not None else node


def _place(resource: str) -> tuple[int, str]:
    if resource in _FIRST:
        return _FIRST.index(resource), ""
    return (9, "") if resource == PODS else (5, resource)


def shown_cluster(snapshot: Snapshot) -> ShownCluster:
    """Walks the snapshot once. Objects of a wrong form are left out; the engine has named them."""
    return _of(item for _, item in snapshot.objects())


def _of(items: Iterable[Json]) -> ShownCluster:
    nodes: dict[str, ShownNode] = {}
    used: dict[str, Amounts] = {}
    waiting: dict[str, WaitingPod] = {}
    for item in items:
        try:
            if item.get("kind") == "Node":
                nodes[name_of(item)] = _node(item)
            elif item.get("kind") == "Pod" and not has_ended(item):
                if node_of(item):
                    add(used.setdefault(node_of(item), {}), requested(item))
                else:
                    waiting[key_of(item)] = WaitingPod(workload_name(item), requested(item))
        except (TypeError, AttributeError, ValueError):
            continue
    for name, amounts in used.items():
        if name in nodes:
            nodes[name] = replace(nodes[name], used=amounts)
    return ShownCluster(dict(sorted(nodes.items())), waiting)


def _node(item: Json) -> ShownNode:
    labels = mapping_at(mapping_at(item, "metadata"), "labels")
    zone = next((str(labels[key]) for key in _ZONES if labels.get(key)), "")
    racks = (str(labels[key]) for key in sorted(labels) if key.rpartition("/")[2] == _RACK)
    return ShownNode(name_of(item), zone, next(racks, ""), allocatable(item), {})
