"""Users who claim devices, a driver that publishes them, and the controller of claims.

The driver may be late, fail to make a device ready, or publish other devices than before. Their
requests go straight to the server.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

from kpolicy.testing.objects.resource_types import BY_KIND
from tests.simulation.api_server import USER, SimulatedApi
from tests.simulation.device_objects import (
    DRIVER,
    FAILED,
    READY,
    Json,
    claiming,
    device,
    device_claim,
    device_class,
    extended,
    is_extended,
    resource_slice,
)
from tests.simulation.people import MERGE, NODES, PODS, People

_GROUP: Final = "resource.k8s.io/v1"
DEVICE_CLAIMS: Final = BY_KIND[_GROUP, "ResourceClaim"]
SLICES: Final = BY_KIND[_GROUP, "ResourceSlice"]
CLASSES_PATH: Final = f"/apis/{_GROUP}/deviceclasses"
SLICES_PATH: Final = f"/apis/{_GROUP}/resourceslices"
CLAIMS_PATH: Final = f"/apis/{_GROUP}/namespaces/default/resourceclaims"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
CLAIM_NAMES: Final = 14
CLAIMS_MAX: Final = 20
DEVICES_MAX: Final = 3
LOOK_S: Final = (0.1, 0.5, 2.0)
DEVICE_FAILS: Final = "device failed"


class Devices:
    def __init__(self, api: SimulatedApi, people: People, random: Random) -> None:
        self._api = api
        self._people = people
        self._random = random
        self.counts: Counter[str] = Counter()
        self.steps: dict[Callable[[], None], int] = {
            self.create_device_pod: 18,
            self.delete_claim: 2,
            self.late_claim: 2,
            self.replace_slice: 2,
        }

    def begin(self) -> None:
        self._do("POST", CLASSES_PATH, device_class())
        self._publish()

    async def run_controllers(self, *, publishes: bool = True) -> None:
        """Without `publishes`, slices stay as they are."""
        while True:
            is_calm = self._people.calm
            await asyncio.sleep(0.2 if is_calm else self._random.choice(LOOK_S))
            if publishes:
                self._publish()
            self._make_ready()
            self._clean()

    # --- users -----------------------------------------------------------------------------------

    def create_device_pod(self) -> None:
        """Creates a pod with new claims, with one that other pods may use too, or with an extended
        resource."""
        chance = self._random
        body = self._people.pod_body(f"gpu-pod-{chance.randrange(20)}")
        if chance.random() < 0.25:
            self._people.submit(extended(body), "create pod with extended resource")
            return
        names = {f"gpu-{chance.randrange(CLAIM_NAMES)}" for _ in range(chance.choice((1, 1, 2)))}
        for name in sorted(names):
            if chance.random() < 0.93:  # otherwise its claim is created later, or never
                self._create_claim(name)
        self._people.submit(claiming(body, sorted(names)), "create device pod")

    def are_extended_asked_for(self) -> bool:
        """Whether a pod that is not placed asks for an extended resource."""
        return any(
            is_extended(record.object) and not record.object["spec"].get("nodeName")
            for record in self._api.store.records(PODS)
        )

    def late_claim(self) -> None:
        self._create_claim(f"gpu-{self._random.randrange(CLAIM_NAMES)}")

    def delete_claim(self) -> None:
        """Deletes a claim; one that is allocated only gets a deletion timestamp."""
        names = [record.name for record in self._api.store.records(DEVICE_CLAIMS)]
        if names:
            self._do("DELETE", f"{CLAIMS_PATH}/{self._random.choice(names)}", None)
            self.counts["delete device claim"] += 1

    def replace_slice(self) -> None:
        """The driver publishes other devices of a node."""
        slices = list(self._api.store.records(SLICES))
        if slices:
            held = self._random.choice(slices)
            node = held.object["spec"]["nodeName"]
            generation = held.object["spec"]["pool"]["generation"] + 1
            spec = resource_slice(node, self._devices(), generation)["spec"]
            self._do("PATCH", f"{SLICES_PATH}/{held.name}", {"spec": spec})
            self.counts["replace slice"] += 1

    # --- the driver ------------------------------------------------------------------------------

    def _publish(self) -> None:
        nodes = {record.name for record in self._api.store.records(NODES)}
        there = {
            record.object["spec"]["nodeName"]: record.name
            for record in self._api.store.records(SLICES)
        }
        for node in sorted(nodes - there.keys()):
            self._do("POST", SLICES_PATH, resource_slice(node, self._devices()))
        for node in sorted(there.keys() - nodes):
            self._do("DELETE", f"{SLICES_PATH}/{there[node]}", None)

    def _devices(self) -> list[Json]:
        count = self._random.randint(1, DEVICES_MAX)
        return [
            device(f"gpu-{number}", is_slow=self._random.random() < 0.25) for number in range(count)
        ]

    def _make_ready(self) -> None:
        for record in list(self._api.store.records(DEVICE_CLAIMS)):
            status = record.object.get("status") or {}
            reported = list(status.get("devices") or ())
            known = {(own["pool"], own["device"]) for own in reported}
            slow = [
                result
                for result in _results(record.object)
                if result.get("bindingConditions")
                and (result["pool"], result["device"]) not in known
            ]
            if not slow or (not self._people.calm and self._random.random() < 0.6):
                continue
            for result in slow:
                fails = not self._people.calm and self._random.random() < 0.2
                self.counts[DEVICE_FAILS] += fails
                reported.append(_report(result, FAILED if fails else READY))
            self._patch(f"{CLAIMS_PATH}/{record.name}/status", {"status": {"devices": reported}})

    # --- the controller of claims ----------------------------------------------------------------

    def _clean(self) -> None:
        """Takes claims from pods that are gone or have ended. What nobody uses then is not
        allocated any more."""
        alive = {
            record.uid
            for record in self._api.store.records(PODS)
            if (record.object.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        }
        for record in list(self._api.store.records(DEVICE_CLAIMS)):
            self._release(record, alive)

    def _release(self, record: Any, alive: set[str]) -> None:
        metadata, status = record.object["metadata"], record.object.get("status") or {}
        path = f"{CLAIMS_PATH}/{record.name}"
        consumers = list(status.get("reservedFor") or ())
        left = [consumer for consumer in consumers if consumer["uid"] in alive]
        owners = metadata.get("ownerReferences") or ()
        is_orphan = any(owner["uid"] not in alive for owner in owners)
        is_going = bool(is_orphan or metadata.get("deletionTimestamp"))
        is_free = not left and (len(consumers) > 0 or is_going)
        if is_free and status:
            nothing = {"reservedFor": None, "allocation": None, "devices": None}
            self._patch(f"{path}/status", {"status": nothing})
        elif len(left) < len(consumers):
            self._patch(f"{path}/status", {"status": {"reservedFor": left}})
        if is_orphan:
            self._do("DELETE", path, None)
        if is_free and FINALIZER in (metadata.get("finalizers") or ()):
            self._patch(path, {"metadata": {"finalizers": None}})

    # --- inside ----------------------------------------------------------------------------------

    def _create_claim(self, name: str) -> None:
        if self._api.store.count(DEVICE_CLAIMS) < CLAIMS_MAX:
            self._do("POST", CLAIMS_PATH, device_claim(name, self._random.choice((1, 1, 1, 2))))

    def _patch(self, path: str, body: Json) -> None:
        self._do("PATCH", path, body)

    def _do(self, method: str, path: str, body: object) -> None:
        answer = self._api.do(USER, method, path, body, MERGE if method == "PATCH" else "")
        assert answer.code in (200, 201, 202, 404, 409), json.loads(answer.body)


def users_of(claim: Any) -> list[str]:
    """The pods that an allocated claim is reserved for."""
    status = claim.get("status") or {}
    consumers = status.get("reservedFor") or () if status.get("allocation") else ()
    return [consumer["name"] for consumer in consumers]


def _results(claim: Any) -> list[Json]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or ())


def _report(result: Json, kind: str) -> Json:
    condition = {
        "type": kind,
        "status": "True",
        "reason": "Simulated",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    place = {"driver": DRIVER, "pool": result["pool"], "device": result["device"]}
    return {**place, "conditions": [condition]}
