"""Bodies of device classes, slices and claims in the simulated world, and of pods that use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Json = dict[str, Any]
DRIVER: Final = "gpu.example.com"
CLASS: Final = "gpu"
RESOURCE: Final = "example.com/gpu"
READY, FAILED = "ready", "failed"
_GROUP: Final = "resource.k8s.io/v1"


def device_class() -> Json:
    spec = {"extendedResourceName": RESOURCE}
    return {
        "apiVersion": _GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": spec,
    }


def resource_slice(node: str, devices: Iterable[Json], generation: int = 1) -> Json:
    """All devices of a node."""
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    kind = {"apiVersion": _GROUP, "kind": "ResourceSlice"}
    return {**kind, "metadata": {"name": f"slice-{node}"}, "spec": spec}


def device(name: str, *, is_slow: bool = False) -> Json:
    """`is_slow`: the driver makes it ready before the pod is bound."""
    if not is_slow:
        return {"name": name}
    return {"name": name, "bindingConditions": [READY], "bindingFailureConditions": [FAILED]}


def device_claim(name: str, count: int = 1) -> Json:
    exactly = {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count}
    spec = {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
    kind = {"apiVersion": _GROUP, "kind": "ResourceClaim"}
    return {**kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def claiming(body: Json, names: Sequence[str]) -> Json:
    """The pod with these claims on devices added."""
    body["spec"]["resourceClaims"] = [{"name": name, "resourceClaimName": name} for name in names]
    return body


def extended(body: Json) -> Json:
    """The pod with a device as an extended resource added."""
    resources = body["spec"]["containers"][0].setdefault("resources", {})
    for part in ("requests", "limits"):
        resources.setdefault(part, {})[RESOURCE] = "1"
    return body


def is_extended(pod: Mapping[str, Any]) -> bool:
    """Whether it asks for a device as an extended resource."""
    containers = pod["spec"]["containers"]
    return any(
        RESOURCE in ((each.get("resources") or {}).get("requests") or {}) for each in containers
    )
