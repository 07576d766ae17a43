"""The workloads: what their pods request, and what the cluster must have for them.

Pods are of 50 apps in turn. A workload differs from `basic` only in what it states. In a workload
`unique-…` every pod differs from every other in one respect, so that no decision can use what an
earlier one worked out for an equal pod.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

APPS: Final = 50
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
DISK: Final = "disk"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_CPU_MILLI: Final = 32_000

Shape = Mapping[str, Any]
# The requests of a container of the n-th pod: milli-cores and MiB.
Requests = Callable[[int], tuple[int, int]]


def _equal(_: int) -> tuple[int, int]:
    return 100, 256


def _mixed(index: int) -> tuple[int, int]:
    """50-440m and 64-1087Mi."""
    return 50 + 10 * (index % 40), 64 + 7 * index % 1024


def _larger_than_any_node(_: int) -> tuple[int, int]:
    return 2 * NODE_CPU_MILLI, 256


def _large(_: int) -> tuple[int, int]:
    return 1_000, 256


def _unique(index: int) -> tuple[int, int]:
    """No two of 10,000 pods alike."""
    return 100 + index % 100, 256 + index // 100 % 100


def _nothing(_: str) -> Shape:
    return {}


class Devices(Enum):
    """What the nodes have of devices, and how pods ask for one."""

    NONE = "none"
    CLAIMED = "claimed"
    PARTITIONED = "partitioned"
    EXTENDED = "extended"


@dataclass(frozen=True, slots=True)
class Workload:
    """`spec` returns what pods of an app have in their spec besides one container. In its texts
    and in `labels`, `@index@` stands for the number of the pod; `@zone@`, `@disk@` and `@type@` are
    those of the node with this number."""

    about: str
    requests: Requests = _equal
    spec: Callable[[str], Shape] = _nothing
    labels: Shape = field(default_factory=dict)
    priority: int = 0
    has_volumes: bool = False
    devices: Devices = Devices.NONE
    # If so, existing pods use all cpu, so that each new pod needs a preemption.
    are_nodes_full: bool = False
    existing_requests: Requests = field(default=_equal)


def _selector(app: str) -> Shape:
    return {"matchLabels": {"app": app}}


def _term(app: str, topology_key: str) -> Shape:
    return {"labelSelector": _selector(app), "topologyKey": topology_key}


def _node_affinity(_: str) -> Shape:
    """A quarter of the nodes: one of two disks, two of four instance types."""
    expressions = [
        {"key": DISK, "operator": "In", "values": ["ssd"]},
        {"key": INSTANCE_TYPE, "operator": "In", "values": ["type-0", "type-1"]},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: required}}}


def _spread(app: str) -> Shape:
    """Hard constraint over zones, soft constraint over nodes."""
    constraints = [
        (ZONE, "DoNotSchedule", 5),
        (HOSTNAME, "ScheduleAnyway", 1),
    ]
    return {
        "topologySpreadConstraints": [
            {
                "topologyKey": key,
                "whenUnsatisfiable": when,
                "maxSkew": skew,
                "labelSelector": _selector(app),
            }
            for key, when, skew in constraints
        ]
    }


def _anti_affinity(app: str) -> Shape:
    """No two pods of an app on one node."""
    return {"affinity": {"podAntiAffinity": {REQUIRED: [_term(app, HOSTNAME)]}}}


def _affinity(app: str) -> Shape:
    """All pods of an app in one zone."""
    return {"affinity": {"podAffinity": {REQUIRED: [_term(app, ZONE)]}}}


def _preferred_anti_affinity(app: str) -> Shape:
    """If possible, no two pods of an app on one node."""
    preferred = [{"weight": 100, "podAffinityTerm": _term(app, HOSTNAME)}]
    return {"affinity": {"podAntiAffinity": {PREFERRED: preferred}}}


def _one_of(key: str, *values: str) -> Shape:
    """A requirement of a selector that no other pod has; `own-…` matches nothing."""
    return {"key": key, "operator": "In", "values": [*values, "own-@index@"]}


def _unique_term(app: str, topology_key: str) -> Shape:
    """Selects the pods of the app."""
    return {
        "labelSelector": {"matchExpressions": [_one_of("app", app)]},
        "topologyKey": topology_key,
    }


def _unique_selector(_: str) -> Shape:
    expressions = [_one_of(DISK, "@disk@"), _one_of(INSTANCE_TYPE, "type-@type@")]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {
        "affinity": {"nodeAffinity": {REQUIRED: required}},
        "tolerations": [{"key": "own-@index@", "operator": "Exists", "effect": "NoSchedule"}],
    }


def _unique_spread(app: str) -> Shape:
    constraint = {**_unique_term(app, ZONE), "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 5}
    return {"topologySpreadConstraints": [constraint]}


def _unique_anti_affinity(app: str) -> Shape:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [_unique_term(app, HOSTNAME)]}}}


def _unique_preferred_anti_affinity(app: str) -> Shape:
    preferred = [{"weight": 100, "podAffinityTerm": _unique_term(app, HOSTNAME)}]
    return {"affinity": {"podAntiAffinity": {PREFERRED: preferred}}}


def _unique_affinity(app: str) -> Shape:
    return {"affinity": {"podAffinity": {REQUIRED: [_unique_term(app, ZONE)]}}}


def _unique_preferred_node_affinity(_: str) -> Shape:
    wanted = [
        (80, _one_of(ZONE, "zone-@zone@")),
        (50, _one_of(DISK, "@disk@")),
        (20, _one_of(INSTANCE_TYPE, "type-@type@")),
        (10, {"key": HOSTNAME, "operator": "NotIn", "values": ["node-@index@"]}),
    ]
    preferred = [
        {"weight": weight, "preference": {"matchExpressions": [expression]}}
        for weight, expression in wanted
    ]
    return {"affinity": {"nodeAffinity": {PREFERRED: preferred}}}


def _unique_everything(app: str) -> Shape:
    affinity = (_unique_preferred_node_affinity, _unique_preferred_anti_affinity)
    return {
        **_unique_spread(app),
        "affinity": {key: part for of in affinity for key, part in of(app)["affinity"].items()},
    }


UNIQUE: Final[Mapping[str, Workload]] = {
    "unique-labels": Workload("a label of its own a pod", labels={"own": "own-@index@"}),
    "unique-selector-and-tolerations": Workload(
        "required node affinity and a toleration of its own a pod", spec=_unique_selector
    ),
    "unique-requests": Workload("requests of its own a pod", _unique),
    "unique-hard-spread": Workload(
        "hard topology spread over zones, a selector of its own a pod", spec=_unique_spread
    ),
    "unique-required-anti-affinity": Workload(
        "one of an app a node, a selector of its own a pod", spec=_unique_anti_affinity
    ),
    "unique-preferred-anti-affinity": Workload(
        "rather one of an app a node, a selector of its own a pod",
        spec=_unique_preferred_anti_affinity,
    ),
    "unique-required-affinity": Workload(
        "an app in one zone, a selector of its own a pod", spec=_unique_affinity
    ),
    "unique-preferred-node-affinity": Workload(
        "four preferred terms of its own a pod, one by host name",
        spec=_unique_preferred_node_affinity,
    ),
    "unique-everything": Workload(
        "requests, hard spread, preferred node affinity and anti-affinity of its own a pod",
        _unique,
        spec=_unique_everything,
    ),
}

# Workloads with few kinds of pods, for which earlier decisions are used again.
REPEATED: Final[Mapping[str, Workload]] = {
    "basic": Workload("equal pods of 100m and 256Mi"),
    "mixed": Workload("requests of 50-440m and 64-1087Mi", _mixed, existing_requests=_mixed),
    "nodeaffinity": Workload("required affinity to a quarter of the nodes", spec=_node_affinity),
    "spread": Workload("topology spread: hard over zones, soft over nodes", spec=_spread),
    "antiaffinity": Workload("required anti-affinity: one of an app a node", spec=_anti_affinity),
    "affinity": Workload("required affinity: an app in one zone", spec=_affinity),
    "prefaffinity": Workload(
        "preferred anti-affinity: rather one of an app a node", spec=_preferred_anti_affinity
    ),
    "preemption": Workload(
        "no room but that of pods of lower priority", _large, priority=1_000, are_nodes_full=True
    ),
    "unschedulable": Workload("more cpu than any node has", _larger_than_any_node),
    "volumes": Workload("a bound volume in a zone for each pod", has_volumes=True),
}

# Workloads whose pods need devices. No two pods are equal, since each has a claim of its own.
DEVICES: Final[Mapping[str, Workload]] = {
    "claims": Workload("a claim of one of the node's eight devices", devices=Devices.CLAIMED),
    "claims-partitioned": Workload(
        "a claim of a quarter or half of one of the node's two devices", devices=Devices.PARTITIONED
    ),
    "extended-resource": Workload(
        "a resource behind which the node's eight devices stand", devices=Devices.EXTENDED
    ),
}

WORKLOADS: Final[Mapping[str, Workload]] = {**REPEATED, **DEVICES, **UNIQUE}
