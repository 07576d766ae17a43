"""The facts that expressions may read, as data: roots, types of objects, and their members.

A row gives type, arguments, binding time, unit, column and how large a value may be. The engine
answers the paths that follow from it (`node.free` with `["cpu"]`). The types of API objects come
from the packed Kubernetes schema: times are timestamps, quantities are strings (`quantity(…)` reads
them), and a value that may be a number or a string is `dyn`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel import api_schema
from kpolicy.policy.cel.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    SELECTOR,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
)
from kpolicy.quick_dataclass import dataclass


class Time(IntEnum):
    """When a value can be known, earliest first."""

    CONST = 0
    PARAMS = 1
    CLUSTER = 2
    POD = 3
    NODE_CLASS = 4
    NODE = 5
    DOMAIN = 6


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object.

    `entries` is set for maps whose entries are facts of their own, named with `[]` behind;
    `column` says what the engine has for all nodes at once: `int`, `double`, `bool`, `text`,
    `classes`, or nothing. `of_root` names the root that must stand as the only argument and is
    not passed on.
    """

    result: Type
    params: tuple[Type, ...] = ()
    optional: int = 0
    time: Time = Time.CONST
    column: str = ""
    entries: bool = False
    # An entry that is absent reads as empty. `in` therefore asks a fact of its own: `?[]` behind.
    reads_absent: bool = False
    unit_by_resource: bool = False
    size: int = 1
    entry_size: int = 63
    cost: int = 1
    of_root: str = ""
    method: bool = False
    # A part of the API object itself: read of the facts of a root only, never of a value.
    by_api_path: bool = False
    # Told by other objects, of these roots only; of any holder if empty.
    told_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectType:
    """`record`: its values are plain maps in the engine, their members fields."""

    name: str
    members: Mapping[str, Member]
    record: bool = False

    @property
    def type(self) -> Type:
        return Type(self.name)

    def shown(self, at_most: int) -> str:
        """Names of members, for a hint."""
        names = [
            f"`{name}(…)`" if member.method else f"`{name}`"
            for name, member in list(self.members.items())[:at_most]
        ]
        return ", ".join(names) + (", …" if len(self.members) > at_most else "")


# Prefix of the API's types: `v1.Container` is not the `Container` of the short facts.
_PREFIX: Final = "v1."
_SCALARS: Final = {
    "b": BOOL,
    "d": DYN,
    "i": INT,
    "n": DOUBLE,
    "q": STRING,
    "s": STRING,
    "t": TIMESTAMP,
}
# Bounds of what one value may hold, for the cost.
_ITEMS_MAX: Final = 16
_ENTRIES_MAX: Final = 128
TEXT_BYTES_MAX: Final = 317
_ENTRY_BYTES_MAX: Final = 63
ANNOTATION_BYTES_MAX: Final = 4096


def _type(packed: str) -> Type:
    if packed.startswith("["):
        return list_of(_type(packed[1:]))
    if packed.startswith("{"):
        return map_of(STRING, _type(packed[1:]))
    return _SCALARS.get(packed) or Type(_PREFIX + packed)


@cache
def _member(packed: str) -> Member:
    kind = _type(packed)
    if kind.name == "list":
        return Member(kind, size=_ITEMS_MAX)
    if kind.name == "map":
        return Member(kind, entries=True, size=_ENTRIES_MAX, entry_size=_ENTRY_BYTES_MAX)
    return Member(kind, size=TEXT_BYTES_MAX if kind == STRING else 1)


def _lines() -> list[str]:
    return api_schema.TYPES.replace("\n ", " ").split("\n")


def _fields(line: str) -> tuple[str, dict[str, Member]]:
    name, *fields = line.split()
    members = {field: _member(packed) for field, packed in (pair.split(":", 1) for pair in fields)}
    if "annotations" in members:
        members["annotations"] = replace(members["annotations"], entry_size=ANNOTATION_BYTES_MAX)
    return name, members


_ALL: Final = dict(_fields(line) for line in _lines() if line)


def parts_of(kind: str, time: Time) -> dict[str, Member]:
    """`metadata`, `spec` and `status` of Pod, Node or Namespace."""
    return {
        name: Member(member.result, time=time, by_api_path=True)
        for name, member in _ALL[kind].items()
    }


API_RECORDS: Final = tuple(
    ObjectType(_PREFIX + name, MappingProxyType(members), record=True)
    for name, members in _ALL.items()
)


@dataclass(frozen=True, slots=True)
class Root:
    """`type` names an object type, or the type of a value."""

    type: str
    time: Time


@dataclass(frozen=True, slots=True)
class Catalogue:
    roots: Mapping[str, Root]
    types: Mapping[str, ObjectType] = field(default_factory=dict)

    def object_type(self, kind: Type) -> ObjectType | None:
        return self.types.get(kind.name)

    def extended(self, roots: Mapping[str, Root], types: Mapping[str, ObjectType]) -> Catalogue:
        """The catalogue with further roots, and further members of types."""
        merged = dict(self.types)
        for name, extra in types.items():
            before = merged.get(name)
            members = {**(before.members if before else {}), **extra.members}
            merged[name] = ObjectType(name, MappingProxyType(members), extra.record)
        return Catalogue(MappingProxyType({**self.roots, **roots}), MappingProxyType(merged))


LABELS_MAX: Final = 128
LABEL_VALUE_BYTES_MAX: Final = 63
# A prefix of 253 bytes, a slash and a name of 63.
LABEL_KEY_BYTES_MAX: Final = 317
NAME_BYTES_MAX: Final = 253
TAINTS_MAX: Final = 32
TOLERATIONS_MAX: Final = 64
CONTAINERS_MAX: Final = 64
# Most pods have one; the eviction API refuses pods that have more.
BUDGETS_MAX: Final = 8
# A kubelet takes 110 pods by default, and providers up to 256.
PODS_PER_NODE_MAX: Final = 256
# A kubelet reports 50 images, with five names each.
IMAGE_NAMES_MAX: Final = 250
# Of one pod, as a rule: the API allows 32 in one claim.
DEVICES_MAX: Final = 8
# Devices that slices give one node, and the slices.
NODE_DEVICES_MAX: Final = 16
NODE_SLICES_MAX: Final = 4
CLAIMS_MAX: Final = 8
# Of one node: the engine looks at no more.
GPUS_MAX: Final = 16
# Of one device, as a rule: the API allows 32 together.
ATTRIBUTES_MAX: Final = 16
CAPACITIES_MAX: Final = 8
DOMAINS_MAX: Final = 4096
# A cluster whose sums are worked out for each node: its nodes, and its kinds of pods.
CLUSTER_NODES_MAX: Final = 5_000
POD_IDENTITIES_MAX: Final = 1_024

# The roots of the pod that waits, and of one on a node that may be evicted.
PENDING: Final = "pod"
VICTIM: Final = "victim"
# What concerns the queue sees these: the tenant of the pod that waits, and its wait.
TENANT: Final = "tenant"
QUEUE: Final = "queue"
# What a node can give to the claims of the pod.
ALLOCATION: Final = "allocation"
# The moment of the decision: a value, and no object.
NOW: Final = "now"

_LABELS: Final = map_of(STRING, STRING)


def _value(result: Type, **more: object) -> Member:
    return Member(result, **more)  # type: ignore[arg-type]


def _map(time: Time, column: str, entry_size: int = LABEL_VALUE_BYTES_MAX) -> Member:
    return Member(
        _LABELS, time=time, column=column, entries=True, size=LABELS_MAX, entry_size=entry_size
    )


def _resource(time: Time = Time.CONST, column: str = "int") -> Member:
    return Member(INT, (STRING,), time=time, column=column, unit_by_resource=True, method=True)


def _list(of: str, size: int, **more: object) -> Member:
    return Member(list_of(Type(of)), size=size, **more)  # type: ignore[arg-type]


def _record(name: str, /, **members: Type) -> ObjectType:
    rows = {member: Member(kind) for member, kind in members.items()}
    return ObjectType(name, MappingProxyType(rows), record=True)


def _object(name: str, members: dict[str, Member]) -> ObjectType:
    return ObjectType(name, MappingProxyType(members))


_RECORDS: Final = (
    _record("Taint", key=STRING, value=STRING, effect=STRING),
    _record(
        "Toleration",
        key=STRING,
        operator=STRING,
        value=STRING,
        effect=STRING,
        tolerationSeconds=INT,
    ),
    _record("Controller", kind=STRING, name=STRING),
    _record("DisruptionBudget", name=STRING, disruptionsAllowed=INT),
    _record(
        "PodClaim",
        name=STRING,
        claim=STRING,
        deviceClasses=list_of(STRING),
        allocated=BOOL,
    ),
    # Ports without a host port concern no node; `pod.spec` has them.
    _record("Port", protocol=STRING, hostIP=STRING, hostPort=INT),
    _record("Volumes", claims=list_of(STRING)),
    _record("PodGpu", count=INT, milli=INT),
    _record(
        "Container",
        name=STRING,
        image=STRING,
        ports=list_of(Type("Port")),
        requests=map_of(STRING, INT),
        limits=map_of(STRING, INT),
    ),
)

_ALLOCATED_DEVICE: Final = ObjectType(
    "AllocatedDevice",
    MappingProxyType(
        {
            **dict.fromkeys(
                ("claim", "request", "deviceClass", "driver", "pool", "device"),
                Member(STRING, size=NAME_BYTES_MAX),
            ),
            "attributes": Member(map_of(STRING, DYN), size=ATTRIBUTES_MAX),
            "capacity": Member(map_of(STRING, Type("quantity")), size=CAPACITIES_MAX),
            "leftOfPool": Member(INT),
            "leftOfPartition": Member(DOUBLE),
        }
    ),
    record=True,
)

_POD: Final = _object(
    "Pod",
    {
        "name": _value(STRING, size=NAME_BYTES_MAX),
        "namespace": _value(STRING, size=NAME_BYTES_MAX),
        "uid": _value(STRING, size=NAME_BYTES_MAX),
        "labels": _map(Time.CONST, ""),
        "annotations": _map(Time.CONST, "", ANNOTATION_BYTES_MAX),
        "nodeSelector": _map(Time.CONST, ""),
        "priority": _value(INT),
        "priorityClassName": _value(STRING, size=NAME_BYTES_MAX),
        "schedulerName": _value(STRING, size=NAME_BYTES_MAX),
        "serviceAccount": _value(STRING, size=NAME_BYTES_MAX),
        "qosClass": _value(STRING, size=NAME_BYTES_MAX),
        "preemptionPolicy": _value(STRING, size=NAME_BYTES_MAX),
        "controller": _value(Type("Controller")),
        "disruptionBudgets": _list("DisruptionBudget", BUDGETS_MAX, told_of=(PENDING, VICTIM)),
        "controllerReplicas": _value(INT, told_of=(PENDING,)),
        "claims": _list("PodClaim", CLAIMS_MAX, told_of=(PENDING,)),
        "containers": _list("Container", CONTAINERS_MAX),
        "initContainers": _list("Container", CONTAINERS_MAX),
        "tolerations": _list("Toleration", TOLERATIONS_MAX),
        "hostNetwork": _value(BOOL),
        "volumes": _value(Type("Volumes")),
        "gpu": _value(Type("PodGpu")),
        "images": Member(list_of(STRING), size=CONTAINERS_MAX),
        "request": _resource(column=""),
        "limit": _resource(column=""),
        # Compares short texts inside the engine: a tenth each, as the library's text functions.
        "tolerates": Member(BOOL, (Type("Taint"),), cost=1 + TOLERATIONS_MAX // 10, method=True),
        **parts_of("Pod", Time.CONST),
    },
)

_NODE: Final = _object(
    "Node",
    {
        "name": _value(STRING, time=Time.NODE, column="text", size=NAME_BYTES_MAX),
        "labels": _map(Time.NODE_CLASS, "text"),
        "annotations": _map(Time.NODE, "", ANNOTATION_BYTES_MAX),
        "taints": _list("Taint", TAINTS_MAX, time=Time.NODE_CLASS, column="classes"),
        "unschedulable": _value(BOOL, time=Time.NODE, column="bool"),
        "ready": _value(BOOL, time=Time.NODE, column="bool"),
        "conditions": Member(
            _LABELS, time=Time.NODE, column="text", entries=True, size=CONTAINERS_MAX
        ),
        "allocatable": _resource(Time.NODE),
        "capacity": _resource(Time.NODE),
        "requested": _resource(Time.NODE),
        "free": _resource(Time.NODE),
        "utilization": Member(DOUBLE, (STRING,), time=Time.NODE, column="double", method=True),
        "podCount": _value(INT, time=Time.NODE, column="int"),
        "podLimit": _value(INT, time=Time.NODE, column="int"),
        "pods": _value(Type("PodSet"), time=Time.NODE),
        "devices": _value(Type("NodeDevices"), time=Time.NODE),
        "gpus": _value(Type("NodeGpus"), time=Time.NODE),
        "hasImage": Member(BOOL, (STRING,), time=Time.NODE, column="bool", method=True),
        "domain": Member(Type("Domain"), (STRING,), time=Time.DOMAIN, method=True),
        "fits": Member(BOOL, time=Time.NODE, column="bool", of_root="pod", method=True),
        **parts_of("Node", Time.NODE),
    },
)

_POD_SET: Final = _object(
    "PodSet",
    {
        "count": Member(INT, (SELECTOR, list_of(STRING)), optional=1, column="int", method=True),
        "sum": Member(
            INT,
            (STRING, SELECTOR),
            optional=1,
            column="int",
            unit_by_resource=True,
            method=True,
        ),
        "size": Member(INT, column="int", method=True),
        "sameController": Member(INT, time=Time.POD, column="int", of_root="pod", method=True),
    },
)

_NODE_DEVICES: Final = _object(
    "NodeDevices",
    {
        **dict.fromkeys(("count", "free"), Member(INT, (STRING,), column="int", method=True)),
        **dict.fromkeys(("countOfClass", "freeOfClass"), Member(INT, (STRING,), method=True)),
        **dict.fromkeys(("countWith", "freeWith"), Member(INT, (STRING,) * 3, method=True)),
    },
)

_NODE_GPUS: Final = _object(
    "NodeGpus",
    {
        "count": _value(INT, column="int"),
        "free": Member(list_of(INT), size=GPUS_MAX),
        "freeMilli": _value(INT, column="int"),
        "kinds": Member(list_of(INT), size=GPUS_MAX),
    },
)

_DOMAIN: Final = _object(
    "Domain",
    {
        "name": _value(STRING, column="text", size=LABEL_VALUE_BYTES_MAX),
        "nodeCount": _value(INT, column="int"),
        "pods": _value(Type("PodSet")),
        "free": _resource(),
        "allocatable": _resource(),
    },
)

_CLUSTER: Final = _object(
    "Cluster",
    {
        "nodeCount": _value(INT),
        "podCount": _value(INT),
        "free": _resource(column=""),
        "allocatable": _resource(column=""),
        "domains": Member(INT, (STRING,), method=True),
        "pods": _value(Type("PodSet")),
    },
)

_NAMESPACE: Final = _object(
    "Namespace",
    {
        "name": _value(STRING, size=NAME_BYTES_MAX),
        "labels": _map(Time.CONST, ""),
        "annotations": _map(Time.CONST, "", ANNOTATION_BYTES_MAX),
        **parts_of("Namespace", Time.CONST),
    },
)

_TENANT: Final = _object(
    "Tenant",
    {
        "name": _value(STRING, size=NAME_BYTES_MAX),
        "used": _resource(column=""),
        "asked": _resource(column=""),
        "othersUsed": _resource(column=""),
        "othersAsked": _resource(column=""),
        "share": _value(DOUBLE),
        "pods": _value(INT),
        "waiting": _value(INT),
    },
)

_QUEUE: Final = _object("Queue", {"age": _value(INT), "attempts": _value(INT)})

_ALLOCATION: Final = _object(
    "Allocation",
    {
        "devices": _list("AllocatedDevice", DEVICES_MAX, time=Time.NODE),
        "size": _value(INT, time=Time.NODE),
        "values": Member(list_of(DYN), (STRING,), time=Time.NODE, size=DEVICES_MAX, method=True),
        "distinct": Member(INT, (STRING,), time=Time.NODE, method=True),
        **dict.fromkeys(("all", "before", "left"), Member(Type("DeviceCounts"), time=Time.NODE)),
    },
)

_DEVICE_COUNTS: Final = _object("DeviceCounts", {"whole": _value(INT), "devices": _value(INT)})

CATALOGUE: Final = Catalogue(
    MappingProxyType(
        {
            PENDING: Root("Pod", Time.POD),
            "node": Root("Node", Time.CONST),
            "cluster": Root("Cluster", Time.CLUSTER),
            "namespaceObject": Root("Namespace", Time.POD),
            VICTIM: Root("Pod", Time.NODE),
            NOW: Root("timestamp", Time.CLUSTER),
            TENANT: Root("Tenant", Time.POD),
            QUEUE: Root("Queue", Time.POD),
            ALLOCATION: Root("Allocation", Time.NODE),
        }
    ),
    MappingProxyType(
        {
            kind.name: kind
            for kind in (
                *_RECORDS,
                *API_RECORDS,
                _POD,
                _NODE,
                _POD_SET,
                _NODE_DEVICES,
                _NODE_GPUS,
                _DOMAIN,
                _CLUSTER,
                _NAMESPACE,
                _TENANT,
                _QUEUE,
                _ALLOCATED_DEVICE,
                _ALLOCATION,
                _DEVICE_COUNTS,
            )
        }
    ),
)

# The members of these roots that are parts of the API object.
API_PARTS: Final = frozenset({"metadata", "spec", "status"})
# The roots whose API objects are kept, as far as expressions read them by path.
API_ROOTS: Final = frozenset({"pod", "node", "namespaceObject"})

# Like the roots, these are no values: the engine only answers for their members.
PATHS_ONLY: Final = frozenset(
    {
        "node.devices",
        "node.gpus",
        "node.domain",
        "node.domain.pods",
        "cluster.pods",
        "allocation.all",
        "allocation.before",
        "allocation.left",
    }
)

# Types that a loop can run over: the type of an item, and the largest number of items.
RANGES: Final = MappingProxyType({"PodSet": (Type("Pod"), PODS_PER_NODE_MAX)})


def resource_unit(resource: str) -> str:
    """The unit of an amount of a resource, which its type carries."""
    if resource == "cpu":
        return "milli-cpu"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return "bytes"
    return resource
