"""Bodies of device classes, slices and claims for tests, which publish slices as a driver does."""

from __future__ import annotations

from typing import Any

from tests.cluster.client import Client

Json = dict[str, Any]
DRIVER = "gpu.example.com"
CLASS = "gpu"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
EXTENDED = "example.com/gpu"
CONTROLLERS = ("resourceclaim-controller",)


def create_class(admin: Client, name: str = CLASS) -> None:
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    spec = {"selectors": [selector], "extendedResourceName": EXTENDED}
    admin.create(CLASSES, {"metadata": {"name": name}, "spec": spec})


def publish(admin: Client, node: str, devices: int) -> None:
    """Publishes the devices of a node, in one slice."""
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
    }
    admin.create(SLICES, {"metadata": {"name": f"{node}-gpus"}, "spec": spec})


def claims(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"


def templates(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaimtemplates"


def requests(count: int = 1) -> Json:
    exactly = {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}


def create_claim(admin: Client, namespace: str, name: str, count: int = 1) -> Json:
    return admin.create(claims(namespace), {"metadata": {"name": name}, "spec": requests(count)})


def create_template(admin: Client, namespace: str, name: str, count: int = 1) -> None:
    spec = {"spec": requests(count)}
    admin.create(templates(namespace), {"metadata": {"name": name}, "spec": spec})


def using(claim: str = "", template: str = "") -> Json:
    """The part of a pod's spec that uses a claim, or one that is made from a template."""
    source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
    return {"resourceClaims": [{"name": "devices", **source}]}


def devices_held(admin: Client, namespace: str) -> list[tuple[str, str]]:
    """Pool and device of every allocation in the namespace."""
    return sorted(
        (result["pool"], result["device"])
        for claim in admin.list(claims(namespace))
        for result in claim.get("status", {})
        .get("allocation", {})
        .get("devices", {})
        .get("results", ())
    )
