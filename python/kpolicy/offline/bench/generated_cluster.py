"""The cluster of a workload as JSON texts that the engine reads, or as a Kubernetes List.

Zones, disks, instance types and nodes are used in turn. Objects are filled into text templates:
100,000 nodes take about a second. The same numbers give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Final

from kpolicy.offline.bench import generated_devices
from kpolicy.offline.bench.workloads import (
    APPS,
    DISK,
    HOSTNAME,
    INSTANCE_TYPE,
    NODE_CPU_MILLI,
    WORKLOADS,
    ZONE,
    Devices,
)
from kpolicy.offline.limits import BENCH_OBJECTS_AT_ONCE

ZONES: Final = 10
DISKS: Final = ("ssd", "hdd")
INSTANCE_TYPES: Final = 4


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    existing: int
    pods: int


def bodies(workload: str, size: Size) -> Iterator[bytes]:
    """The whole cluster, with the pods to place at the end. Each text has a few thousand
    objects."""
    before = chain(fixed_objects(), nodes(size), existing(workload, size))
    yield from packed(chain(before, volumes(workload, size), devices(workload, size)))
    yield from packed(waiting(workload, size))


def as_list(workload: str, size: Size) -> Iterator[bytes]:
    """The whole cluster as one Kubernetes List, with one object on each line."""
    before: bytes = b'{"apiVersion":"v1","kind":"List","items":[\n'
    for body in bodies(workload, size):
        yield before + body.replace(b"\n", b",\n")
        before = b",\n"
    yield b"\n]}\n"


def nodes(size: Size) -> Iterator[str]:
    template = node()
    return (template % node_words(index) for index in range(size.nodes))


def node_words(index: int) -> dict[str, object]:
    """The values that fill the gaps of the n-th node."""
    return {
        "index": index,
        "zone": index % ZONES,
        "disk": DISKS[index // ZONES % len(DISKS)],
        "type": index // (ZONES * len(DISKS)) % INSTANCE_TYPES,
    }


def existing(workload: str, size: Size) -> Iterator[str]:
    """Pods that are on nodes already. They do not have the affinity and constraints of the workload
    themselves."""
    kind = WORKLOADS[workload]
    a_node = -(-size.existing // size.nodes)
    for index in range(size.existing):
        milli, mebi = kind.existing_requests(index)
        if kind.are_nodes_full:
            milli = NODE_CPU_MILLI // a_node
        words = {"index": index, "milli": milli, "mebi": mebi, "node": index % size.nodes}
        yield existing_pod(app_of(index)) % words


def waiting(workload: str, size: Size) -> Iterator[str]:
    """The pods to place, in the order of the queue: all have the same priority and age, and their
    names are in order."""
    kind = WORKLOADS[workload]
    for index in range(size.pods):
        milli, mebi = kind.requests(index)
        template = waiting_pod(workload, app_of(index))
        yield template % {**node_words(index), "milli": milli, "mebi": mebi}


def on_node(workload: str, index: int, node: int) -> str:
    """One of `waiting`, as the API server shows it after its bind."""
    milli, mebi = WORKLOADS[workload].requests(index)
    words = {**node_words(index), "milli": milli, "mebi": mebi, "node": node}
    return waiting_pod(workload, app_of(index), on_node=True) % words


def volumes(workload: str, size: Size) -> Iterator[str]:
    template = bound_volume()
    for index in range(size.pods if WORKLOADS[workload].has_volumes else 0):
        yield template % {"index": index, "zone": index % ZONES}


def devices(workload: str, size: Size) -> Iterator[str]:
    kind = WORKLOADS[workload].devices
    if kind is Devices.NONE:
        return
    yield json.dumps(generated_devices.device_class(kind))
    for index in range(size.nodes):
        for template in published(kind):
            yield template % {"index": index}
    for index in range(size.pods if kind is not Devices.EXTENDED else 0):
        yield device_claim(generated_devices.slots_of(kind, index)) % {"index": index}


def app_of(index: int) -> str:
    return f"app-{index % APPS}"


def packed(items: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    for item in items:
        held.append(item)
        if len(held) == BENCH_OBJECTS_AT_ONCE:
            yield "\n".join(held).encode()
            held.clear()
    if held:
        yield "\n".join(held).encode()


NAMESPACE: Final = "default"
STORAGE_CLASS: Final = "zonal"
_CREATED: Final = "2026-01-01T00:00:00Z"
_IMAGE: Final = "registry.example.com/app:1"
# The text that marks a gap in the template of an object, and the `%` format that fills the gap.
_GAPS: Final[Mapping[str, str]] = {
    "@index@": "%(index)06d",
    "@uid@": "%(index)012d",
    "@node@": "%(node)06d",
    "@zone@": "%(zone)d",
    "@disk@": "%(disk)s",
    "@type@": "%(type)d",
    "@milli@": "%(milli)dm",
    "@mebi@": "%(mebi)dMi",
}

Json = dict[str, Any]


def _template(item: Mapping[str, Any]) -> str:
    """A template that is filled with `%`."""
    text = json.dumps(item, separators=(",", ":")).replace("%", "%%")
    for mark, gap in _GAPS.items():
        text = text.replace(mark, gap)
    return text


def uid(index: int) -> str:
    """The fields of a pending pod, as in its template."""
    return f"00000000-0000-4000-8000-{index:012d}"


@cache
def node() -> str:
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return _template(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "node-@index@",
                "uid": "00000000-0000-4000-8001-@uid@",
                "creationTimestamp": _CREATED,
                "labels": {
                    HOSTNAME: "node-@index@",
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/os": "linux",
                    ZONE: "zone-@zone@",
                    DISK: "@disk@",
                    INSTANCE_TYPE: "type-@type@",
                },
            },
            "spec": {},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux"},
            },
        }
    )


@cache
def existing_pod(app: str) -> str:
    return _template(_pod("existing-@index@", "00000000-0000-4000-8002-@uid@", app, on_node=True))


@cache
def waiting_pod(workload: str, app: str, *, on_node: bool = False) -> str:
    """A pod as `on_node` has it after its bind."""
    kind = WORKLOADS[workload]
    item = _pod("pod-@index@", "00000000-0000-4000-8000-@uid@", app, on_node=on_node)
    item["spec"] |= {"priority": kind.priority, **kind.spec(app)}
    item["metadata"]["labels"] |= kind.labels
    if kind.has_volumes:
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "claim-@index@"}}
        item["spec"]["volumes"].append(claim)
    return _template(generated_devices.asking(item, kind.devices))


@cache
def published(kind: Devices) -> tuple[str, ...]:
    """The devices of a node."""
    return tuple(_template(item) for item in generated_devices.slices(kind))


@cache
def device_claim(slots: int) -> str:
    return _template(generated_devices.claim(slots))


@cache
def bound_volume() -> str:
    """A volume of one zone and the claim it is bound to."""
    name, claim = "volume-@index@", "claim-@index@"
    in_zone = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-@zone@"]}]}]
    size = {"storage": "10Gi"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": "00000000-0000-4000-8003-@uid@"},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": STORAGE_CLASS,
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "claimRef": {
                "namespace": NAMESPACE,
                "name": claim,
                "uid": "00000000-0000-4000-8004-@uid@",
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": in_zone}},
        },
        "status": {"phase": "Bound"},
    }
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim,
            "namespace": NAMESPACE,
            "uid": "00000000-0000-4000-8004-@uid@",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size},
            "storageClassName": STORAGE_CLASS,
            "volumeName": name,
        },
        "status": {"phase": "Bound"},
    }
    return f"{_template(volume)}\n{_template(bound)}"


def fixed_objects() -> list[str]:
    """Objects that exist once."""
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    return [json.dumps(namespace), json.dumps(storage_class)]


def _pod(name: str, uid: str, app: str, *, on_node: bool) -> Json:
    container = {
        "name": "app",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "@milli@", "memory": "@mebi@"}},
    }
    spec: Json = {
        "schedulerName": "default-scheduler",
        "restartPolicy": "Always",
        "serviceAccountName": "default",
        "priority": 0,
        "containers": [container],
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
        "volumes": [{"name": "token", "projected": {"sources": []}}],
    }
    if on_node:
        spec["nodeName"] = "node-@node@"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid,
            "creationTimestamp": _CREATED,
            "labels": {"app": app},
        },
        "spec": spec,
        "status": {"phase": "Running" if on_node else "Pending"},
    }
