"""Devices of a workload: their class, what each node publishes, and the claim of each pod.

A node has eight whole devices, or two that share the counters of their partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kpolicy.offline.bench.workloads import Devices

DRIVER: Final = "gpu.example.com"
CLASS: Final = "gpu"
RESOURCE: Final = "example.com/gpu"
DEVICES_A_NODE: Final = 8
CARDS_A_NODE: Final = 2
# How many slots a card has, and the partitions that it is divided into: slots of each.
SLOTS: Final = 4
PARTITIONS: Final = (4, 2, 2, 1, 1, 1, 1)
_GROUP: Final = "resource.k8s.io/v1"

Json = dict[str, Any]


def device_class(devices: Devices) -> Json:
    expression = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].model == 'h100'"
    spec: Json = {"selectors": [{"cel": {"expression": expression}}]}
    if devices is Devices.EXTENDED:
        spec["extendedResourceName"] = RESOURCE
    return {
        "apiVersion": _GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": CLASS, "uid": "00000000-0000-4000-8005-000000000000"},
        "spec": spec,
    }


def slices(devices: Devices) -> tuple[Json, ...]:
    """What the n-th node publishes."""
    if devices is Devices.NONE:
        return ()
    if devices is not Devices.PARTITIONED:
        return (_slice("devices", 6, 1, {"devices": [_whole(n) for n in range(DEVICES_A_NODE)]}),)
    # Counters are in a slice of their own.
    sets = [
        {"name": f"card-{card}", "counters": {"slots": {"value": str(SLOTS)}}}
        for card in range(CARDS_A_NODE)
    ]
    partitions = [
        _partition(card, place, slots)
        for card in range(CARDS_A_NODE)
        for place, slots in enumerate(PARTITIONS)
    ]
    return (
        _slice("counters", 6, 2, {"sharedCounters": sets}),
        _slice("devices", 7, 2, {"devices": partitions}),
    )


def claim(slots: int) -> Json:
    """The claim of the n-th pod. `slots`: how much of a card it asks for; 0: any device."""
    exactly: Json = {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": 1}
    if slots:
        expression = f"device.attributes['{DRIVER}'].slots == {slots}"
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": _GROUP,
        "kind": "ResourceClaim",
        "metadata": {
            "name": "devices-@index@",
            "namespace": "default",
            "uid": "00000000-0000-4000-8008-@uid@",
        },
        "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}},
    }


def slots_of(devices: Devices, index: int) -> int:
    """How much of a card the n-th pod asks for: every third one half, the others a quarter."""
    return 0 if devices is not Devices.PARTITIONED else 2 if index % 3 == 2 else 1


def asking(item: Json, devices: Devices) -> Json:
    """The pod, which asks for a device."""
    if devices is Devices.EXTENDED:
        resources = item["spec"]["containers"][0]["resources"]
        for part in ("requests", "limits"):
            resources[part] = {**resources.get(part, {}), RESOURCE: "1"}
    elif devices is not Devices.NONE:
        claims = [{"name": "device", "resourceClaimName": "devices-@index@"}]
        item["spec"]["resourceClaims"] = claims
    return item


def _slice(name: str, group: int, count: int, content: Mapping[str, Any]) -> Json:
    return {
        "apiVersion": _GROUP,
        "kind": "ResourceSlice",
        "metadata": {
            "name": f"node-@index@-{name}",
            "uid": f"00000000-0000-4000-800{group}-@uid@",
        },
        "spec": {
            "driver": DRIVER,
            "nodeName": "node-@index@",
            "pool": {"name": "node-@index@", "generation": 1, "resourceSliceCount": count},
            **content,
        },
    }


def _whole(number: int) -> Json:
    return {
        "name": f"gpu-{number}",
        "attributes": {"model": {"string": "h100"}, "index": {"int": number}},
        "capacity": {"memory": {"value": "80Gi"}},
    }


def _partition(card: int, place: int, slots: int) -> Json:
    return {
        "name": f"gpu-{card}-{place}",
        "attributes": {"model": {"string": "h100"}, "slots": {"int": slots}},
        "consumesCounters": [
            {"counterSet": f"card-{card}", "counters": {"slots": {"value": str(slots)}}}
        ],
    }
