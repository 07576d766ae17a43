"""Claims on devices from pending to bound, with the real engine over the embedded control plane."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kpolicy.testing import FaultRule, RequestFault, ScriptedFaults, node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.test_process_real_engine import placed, running

API = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
Json = dict[str, Any]


def device_class(name: str = "gpu", **spec: Any) -> Json:
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    spec = {"selectors": [selector], **spec}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def resource_slice(on: str, devices: int) -> Json:
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{on}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": on,
            "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
        },
    }


def claim(name: str, count: int = 1) -> Json:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def user_of(name: str, *claims: str) -> Json:
    made = dict(pod(name))
    used = [{"name": name, "resourceClaimName": name} for name in claims]
    made["spec"] = {**made["spec"], "resourceClaims": used}
    return made


def claims(control_plane: ControlPlane) -> dict[str, Mapping[str, Any]]:
    return {each["metadata"]["name"]: each for each in control_plane.objects("ResourceClaim")}


def devices_held(control_plane: ControlPlane) -> list[tuple[str, str]]:
    return sorted(
        (result["pool"], result["device"])
        for each in claims(control_plane).values()
        for result in ((each.get("status") or {}).get("allocation") or {"devices": {}})[
            "devices"
        ].get("results", ())
    )


async def test_every_device_is_given_to_one_pod() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(device_class(), *(node(f"n{number}") for number in range(3)))
        control_plane.add(*(resource_slice(f"n{number}", 4) for number in range(3)))
        control_plane.add(*(claim(f"c{number}") for number in range(14)))
        control_plane.add(*(user_of(f"p{number}", f"c{number}") for number in range(14)))
        async with running(control_plane) as (_, until):
            await until(lambda: len(placed(control_plane)) == 12)
            held = devices_held(control_plane)
            assert len(held) == len(set(held)) == 12
            for name, on in placed(control_plane).items():
                status = claims(control_plane)[f"c{name.removeprefix('p')}"]["status"]
                assert [each["pool"] for each in status["allocation"]["devices"]["results"]] == [on]
                assert [each["name"] for each in status["reservedFor"]] == [name]
            control_plane.add(resource_slice("n3", 2), node("n3"))
            await until(lambda: len(placed(control_plane)) == 14)
            assert len(set(devices_held(control_plane))) == 14


async def test_a_pod_waits_for_its_claim_and_is_told_nothing_meanwhile() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(device_class(), node("n0"), resource_slice("n0", 1))
        control_plane.add(user_of("p", "late"), pod("other"))
        async with running(control_plane) as (_, until):
            await until(lambda: "other" in placed(control_plane))
            await asyncio.sleep(0.2)
            (waiting,) = (
                each for each in control_plane.objects("Pod") if each["metadata"]["name"] == "p"
            )
            assert "conditions" not in waiting.get("status", {})
            control_plane.add(claim("late"))
            await until(lambda: "p" in placed(control_plane))


async def test_a_bind_that_is_refused_leaves_the_claim_to_other_pods() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(device_class(), node("n0"), resource_slice("n0", 1))
        control_plane.add(claim("c"), user_of("p", "c"))
        refused = FaultRule(RequestFault(status=500), verb="create", subresource="binding")
        control_plane.faults = ScriptedFaults([refused])
        async with running(control_plane) as (_, until):
            await until(lambda: "p" in placed(control_plane))
            assert len(devices_held(control_plane)) == 1
            assert len(claims(control_plane)["c"]["status"]["reservedFor"]) == 1


async def test_an_extended_resource_behind_a_class_gets_a_claim_of_its_own() -> None:
    resource = "example.com/gpu"
    async with ControlPlane() as control_plane:
        control_plane.add(device_class(extendedResourceName=resource), node("n0"))
        control_plane.add(resource_slice("n0", 3))
        asking = dict(pod("p"))
        (container,) = asking["spec"]["containers"]
        amounts = {**container.get("resources", {}).get("requests", {}), resource: "2"}
        container = {**container, "resources": {"requests": amounts, "limits": {resource: "2"}}}
        asking["spec"] = {**asking["spec"], "containers": [container]}
        control_plane.add(asking)
        async with running(control_plane) as (_, until):
            await until(lambda: "p" in placed(control_plane))
            ((name, made),) = claims(control_plane).items()
            assert name.startswith("p-extended-resources-")
            assert made["metadata"]["ownerReferences"][0]["name"] == "p"
            assert len(devices_held(control_plane)) == 2
            (bound,) = control_plane.objects("Pod")
            assert bound["status"]["extendedResourceClaimStatus"]["resourceClaimName"] == name


async def test_an_allocation_that_keeps_its_pod_from_every_node_is_given_up() -> None:
    """The devices were allocated on a node that is gone."""
    selector = {"key": "metadata.name", "operator": "In", "values": ["gone"]}
    result = {"request": "r", "driver": DRIVER, "pool": "gone", "device": "gpu-0"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [selector]}]},
    }
    async with ControlPlane() as control_plane:
        control_plane.add(device_class(), node("n0"), resource_slice("n0", 1))
        control_plane.add({**claim("c"), "status": {"allocation": allocation}}, user_of("p", "c"))
        async with running(control_plane) as (_, until):
            await until(lambda: "p" in placed(control_plane))
            assert devices_held(control_plane) == [("n0", "gpu-0")]
