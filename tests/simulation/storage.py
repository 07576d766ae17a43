"""Users who create volumes and claims, and the controllers that react: one binds claims to volumes,
and a provisioner.

The provisioner may be late, refuse a node, or provision a volume elsewhere. Their requests go
straight to the server.
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
from tests.simulation.people import MERGE, NODES, PODS, People
from tests.simulation.volume_objects import (
    BIND_COMPLETED,
    LOCAL,
    MADE,
    SELECTED_NODE,
    SIZES,
    Json,
    claim,
    storage_class,
    using,
    volume,
)

CLAIMS: Final = BY_KIND["v1", "PersistentVolumeClaim"]
VOLUMES: Final = BY_KIND["v1", "PersistentVolume"]
CLAIMS_PATH: Final = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES_PATH: Final = "/api/v1/persistentvolumes"
CLAIMS_MAX: Final = 25
CLAIM_NAMES: Final = 30
LOOK_S: Final = (0.1, 0.5, 2.0)
# Possible results of the provisioner with their weights, and their duration.
MAKES, REFUSES, ELSEWHERE = "provisioned", "node refused", "provisioned elsewhere"
FATES: Final = {MAKES: 6, REFUSES: 2, ELSEWHERE: 1}
TAKES_S: Final = (0.2, 1.0, 5.0, 30.0)
TAKES_CALM_S: Final = 1.0


class Storage:
    def __init__(self, api: SimulatedApi, people: People, random: Random) -> None:
        self._api = api
        self._people = people
        self._random = random
        self._made = 0
        # The provisioner's current work, by claim and node: when it ends, and how.
        self._under_way: dict[tuple[str, str], tuple[float, str]] = {}
        self.counts: Counter[str] = Counter()
        self.steps: dict[Callable[[], None], int] = {
            self.create_claimed_pod: 18,
            self.create_volume: 4,
            self.delete_claim: 2,
            self.late_claim: 2,
        }

    @property
    def _is_calm(self) -> bool:
        return self._people.calm

    def begin(self) -> None:
        for name in (LOCAL, MADE):
            self._do("POST", "/apis/storage.k8s.io/v1/storageclasses", storage_class(name))
        for _ in range(self._random.randint(1, 4)):
            self.create_volume()

    async def run_controllers(self) -> None:
        while True:
            await asyncio.sleep(0.2 if self._is_calm else self._random.choice(LOOK_S))
            self._bind_step()
            self._provision_step(asyncio.get_running_loop().time())

    # --- users -----------------------------------------------------------------------------------

    def create_claimed_pod(self) -> None:
        """Creates a pod with new claims, or with an existing one, which other pods may use too."""
        if self._api.store.count(CLAIMS) >= CLAIMS_MAX:
            return
        chance = self._random
        names = []
        for _ in range(chance.choice((1, 1, 2))):
            name = f"claim-{chance.randrange(CLAIM_NAMES)}"
            of_class = chance.choice((MADE, MADE, LOCAL))
            if chance.random() < 0.93:  # otherwise its claim is created later, or never
                self._do("POST", CLAIMS_PATH, claim(name, of_class, chance.choice(SIZES)))
            names.append(name)
        number = chance.randrange(20)
        body = using(self._people.pod_body(f"stateful-{number}"), sorted(set(names)))
        self._people.submit(body, "create claimed pod")

    def create_volume(self) -> None:
        """Creates the volume of a local disk."""
        names = [record.name for record in self._api.store.records(NODES)]
        if names:
            node, size = self._random.choice(names), self._random.choice(SIZES)
            self._do("POST", VOLUMES_PATH, volume(f"local-{self._made}", node, size))
            self._made += 1
            self.counts["create volume"] += 1

    def late_claim(self) -> None:
        name = f"claim-{self._random.randrange(CLAIM_NAMES)}"
        of_class, size = self._random.choice((MADE, LOCAL)), self._random.choice(SIZES)
        self._do("POST", CLAIMS_PATH, claim(name, of_class, size))

    def delete_claim(self) -> None:
        """Deletes a claim that no pod uses; a used one would only get a deletion timestamp, because
        of its finalizer."""
        used = {
            name for record in self._api.store.records(PODS) for name in claims_of(record.object)
        }
        free = [
            record.name for record in self._api.store.records(CLAIMS) if record.name not in used
        ]
        if free:
            self._do("DELETE", f"{CLAIMS_PATH}/{self._random.choice(free)}", None)
            self.counts["delete claim"] += 1

    # --- the controller that binds ---------------------------------------------------------------

    def _bind_step(self) -> None:
        claims = {record.uid: record for record in self._api.store.records(CLAIMS)}
        for record in list(self._api.store.records(VOLUMES)):
            held = record.object
            reference = held["spec"].get("claimRef")
            phase = (held.get("status") or {}).get("phase")
            path = f"{VOLUMES_PATH}/{record.name}"
            if reference is None:
                if phase != "Available":
                    self._patch(f"{path}/status", {"status": {"phase": "Available"}})
                continue
            wanted = claims.get(reference.get("uid", ""))
            if wanted is None:
                self._release(path, held)
            elif phase != "Bound":
                self._patch(f"{path}/status", {"status": {"phase": "Bound"}})
            elif not wanted.object["spec"].get("volumeName"):
                # As in the real controller, one write at a time, so that others see the steps in
                # between.
                annotations = {"annotations": {BIND_COMPLETED: "yes"}}
                body = {"metadata": annotations, "spec": {"volumeName": record.name}}
                self._patch(f"{CLAIMS_PATH}/{wanted.name}", body)
        for record in claims.values():
            phase = (record.object.get("status") or {}).get("phase")
            if record.object["spec"].get("volumeName") and phase != "Bound":
                self._patch(f"{CLAIMS_PATH}/{record.name}/status", {"status": {"phase": "Bound"}})

    def _release(self, path: str, held: Any) -> None:
        """After its claim is deleted, a provisioned volume is deleted and a local disk is wiped."""
        if held["spec"]["storageClassName"] == MADE:
            self._do("DELETE", path, None)
        else:
            self._patch(path, {"spec": {"claimRef": None}})
            self._patch(f"{path}/status", {"status": {"phase": "Available"}})

    # --- the provisioner -------------------------------------------------------------------------

    def _provision_step(self, now_s: float) -> None:
        nodes = [record.name for record in self._api.store.records(NODES)]
        for wanted in list(self._api.store.records(CLAIMS)):
            held = wanted.object
            node = (held["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if held["spec"]["storageClassName"] != MADE or not node:
                continue
            if held["spec"].get("volumeName") or self._is_made(wanted.uid):
                continue
            ends_s, fate = self._under_way.setdefault(
                (wanted.uid, node), (now_s + self._takes_s(), self._fate())
            )
            if self._is_calm:
                ends_s = min(ends_s, now_s + TAKES_CALM_S)
                self._under_way[wanted.uid, node] = ends_s, MAKES
            if now_s < ends_s:
                continue
            del self._under_way[wanted.uid, node]
            self._provision(wanted, node, fate, nodes)

    def _provision(self, claim: Any, node: str, fate: str, nodes: list[str]) -> None:
        if node not in nodes or fate == REFUSES:
            fate = REFUSES
            gone = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            self._patch(f"{CLAIMS_PATH}/{claim.name}", gone)
        else:
            on = self._random.choice(nodes) if fate == ELSEWHERE else node
            size = claim.object["spec"]["resources"]["requests"]["storage"]
            reference = {"namespace": "default", "name": claim.name, "uid": claim.uid}
            body = volume(f"pvc-{claim.uid}", on, size, of_class=MADE, claim=reference)
            self._do("POST", VOLUMES_PATH, body)
        self.counts[fate] += 1

    def _is_made(self, uid: str) -> bool:
        return self._api.store.read(VOLUMES, "", f"pvc-{uid}") is not None

    def _takes_s(self) -> float:
        return self._random.choice(TAKES_S) * self._random.random()

    def _fate(self) -> str:
        (fate,) = self._random.choices(list(FATES), list(FATES.values()))
        return fate

    # --- inside ----------------------------------------------------------------------------------

    def _patch(self, path: str, body: Json) -> None:
        self._do("PATCH", path, body)

    def _do(self, method: str, path: str, body: object) -> None:
        answer = self._api.do(USER, method, path, body, MERGE if method == "PATCH" else "")
        assert answer.code in (200, 201, 404, 409), json.loads(answer.body)


def claims_of(pod: Any) -> list[str]:
    return [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in volume
    ]
