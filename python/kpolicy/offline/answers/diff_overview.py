"""What two policies make of the pending pods as a whole: by workload, by labels of the nodes, and
how full the nodes become.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from kpolicy.offline.snapshots.inventory import Inventory, State, total
from kpolicy.offline.snapshots.json_objects import Json, mapping_at, name_of, uid_of
from kpolicy.offline.snapshots.survey import number

# The labels that shares are counted by where none are named, if a node has them: zone, what kind of
# capacity a node is, rack.
USUAL_LABELS: Final = (
    "topology.kubernetes.io/zone",
    "karpenter.sh/capacity-type",
    "eks.amazonaws.com/capacityType",
    "cloud.google.com/gke-spot",
    "cloud.google.com/gke-provisioning",
    "kubernetes.azure.com/scalesetpriority",
    "node.kubernetes.io/lifecycle",
    "node.kpolicy.dev/lifecycle",
    "capacity-type",
    "capacity",
    "lifecycle",
    "spot",
    "topology.kubernetes.io/rack",
)
_RACK: Final = "rack"
# Labels that name the workload of a pod that no controller owns.
NAMED_BY: Final = ("app.kubernetes.io/name", "app")
_HASH: Final = "pod-template-hash"
NO_VALUE: Final = ""

# The uid of a pod, and the nodes where the old and the new policy place it; empty for none.
Placement = tuple[str, str, str]


@dataclass(slots=True)
class Workload:
    """Pending pods of one controller, or of one name. `moved`: placed by both, on other nodes."""

    pods: int = 0
    placed_by_old: int = 0
    placed_by_new: int = 0
    moved: int = 0

    @property
    def changed(self) -> int:
        return self.moved + abs(self.placed_by_new - self.placed_by_old)

    def line(self) -> dict[str, Any]:
        return {
            "pods": self.pods,
            "placed": {"old": self.placed_by_old, "new": self.placed_by_new},
            "parked": {
                "old": self.pods - self.placed_by_old,
                "new": self.pods - self.placed_by_new,
            },
            "moved": self.moved,
        }


@dataclass(frozen=True, slots=True)
class Fullness:
    """Of one resource, in whole units: what nodes have, what pods on nodes ask for, and what they
    would ask for with those that each policy places."""

    allocatable: Fraction
    before: Fraction
    old: Fraction
    new: Fraction

    def line(self) -> dict[str, int | float]:
        return {
            "allocatable": number(self.allocatable),
            "before": number(self.before),
            "old": number(self.old),
            "new": number(self.new),
        }


@dataclass(frozen=True, slots=True)
class Overview:
    """`shares`: placed pods by label and value, under the old and the new policy. `empty_nodes`:
    nodes without any pod, before and after."""

    workloads: Mapping[str, Workload] = field(default_factory=dict)
    shares: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    fullness: Mapping[str, Fullness] = field(default_factory=dict)
    empty_nodes: tuple[int, int, int] = (0, 0, 0)

    def line(self) -> dict[str, Any]:
        return {
            "workloads": {name: each.line() for name, each in self.workloads.items()},
            "shares": {
                label: {value: {"old": old, "new": new} for value, (old, new) in counts.items()}
                for label, counts in self.shares.items()
            },
            "fullness": {name: each.line() for name, each in self.fullness.items()},
            "emptyNodes": dict(zip(("before", "old", "new"), self.empty_nodes, strict=True)),
        }


@dataclass(frozen=True, slots=True)
class Cluster:
    """What an overview reads of the objects of a snapshot: labels by node, nodes with pods, and the
    workloads of pods on no node, by uid."""

    labels_of: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    occupied: set[str] = field(default_factory=set)
    workload_of: dict[str, str] = field(default_factory=dict)

    def see(self, item: Json) -> None:
        if item.get("kind") == "Node":
            self.labels_of[name_of(item)] = mapping_at(mapping_at(item, "metadata"), "labels")
        elif item.get("kind") == "Pod":
            node = str(mapping_at(item, "spec").get("nodeName") or "")
            self.occupied.add(node)
            if not node:
                self.workload_of[uid_of(item)] = workload_name(item)


def overview_of(
    cluster: Cluster,
    inventory: Inventory,
    placements: Sequence[Placement],
    *,
    labels: Sequence[str] = (),
) -> Overview:
    labels_of = cluster.labels_of
    return Overview(
        _workloads(placements, cluster.workload_of),
        {key: _share(key, labels_of, placements) for key in labels or usual_labels(labels_of)},
        _fullness(inventory, {uid: (old, new) for uid, old, new in placements}),
        _empty_nodes(labels_of.keys(), cluster.occupied, placements),
    )


def workload_name(pod: Json) -> str:
    """`namespace/name` of the controller, for a ReplicaSet that of its Deployment; else of the
    label that names the app; else of the pod."""
    metadata = mapping_at(pod, "metadata")
    labels = mapping_at(metadata, "labels")
    owner = controller_of(pod)
    if owner:
        name = str(owner.get("name") or "").removesuffix(f"-{labels.get(_HASH)}")
    else:
        names = (str(labels[key]) for key in NAMED_BY if labels.get(key))
        name = next(names, str(metadata.get("name") or ""))
    return f"{metadata.get('namespace') or 'default'}/{name}"


def controller_of(pod: Json) -> Mapping[str, Any]:
    """The reference to the controller that owns the pod; empty if there is none."""
    owners = mapping_at(pod, "metadata").get("ownerReferences")
    owners = [owner for owner in owners if isinstance(owner, dict)] if owners else []
    return next((each for each in owners if each.get("controller")), {})


def _workloads(
    placements: Iterable[Placement], workload_of: Mapping[str, str]
) -> dict[str, Workload]:
    """Those with the most changes first."""
    found: dict[str, Workload] = {}
    for uid, old, new in placements:
        each = found.setdefault(workload_of.get(uid, uid), Workload())
        each.pods += 1
        each.placed_by_old += bool(old)
        each.placed_by_new += bool(new)
        each.moved += bool(old and new and old != new)
    order = sorted(found.items(), key=lambda item: (-item[1].changed, -item[1].pods, item[0]))
    return dict(order)


def usual_labels(labels_of: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Those of the usual labels that some node has, and labels of racks."""
    known = dict.fromkeys(key for labels in labels_of.values() for key in labels)
    racks = sorted(key for key in known if key.rpartition("/")[2] == _RACK)
    return [key for key in dict.fromkeys((*USUAL_LABELS, *racks)) if key in known]


def _share(
    key: str, labels_of: Mapping[str, Mapping[str, Any]], placements: Iterable[Placement]
) -> dict[str, tuple[int, int]]:
    """By value; nodes without the label have an empty one."""
    old: Counter[str] = Counter()
    new: Counter[str] = Counter()
    for _, old_node, new_node in placements:
        for node, counts in ((old_node, old), (new_node, new)):
            if node:
                counts[str(labels_of.get(node, {}).get(key, NO_VALUE))] += 1
    return {value: (old[value], new[value]) for value in sorted({*old, *new})}


def _fullness(held: Inventory, placed: Mapping[str, tuple[str, str]]) -> dict[str, Fullness]:
    has = total(node.amounts for node in held.nodes())
    before = total(pod.amounts for pod in held.pods() if pod.state is State.ON_NODE)
    others = [pod for pod in held.pods() if pod.state is not State.ON_NODE]
    since = [
        total(pod.amounts for pod in others if placed.get(pod.uid, ("", ""))[side])
        for side in (0, 1)
    ]
    none = Fraction(0)

    def fullness(name: str) -> Fullness:
        at_first = before.get(name, none)
        old, new = (at_first + amounts.get(name, none) for amounts in since)
        return Fullness(has[name], at_first, old, new)

    return {name: fullness(name) for name in sorted(has)}


def _empty_nodes(
    nodes: Iterable[str], occupied: set[str], placements: Sequence[Placement]
) -> tuple[int, int, int]:
    empty = set(nodes) - occupied
    old, new = ({placement[side] for placement in placements} for side in (1, 2))
    return len(empty), len(empty - old), len(empty - new)
