"""One small story with every kind of write, step by step.

A step ends when the API server shows its result, so a process that dies meanwhile only takes
longer. Free resources are such that the end is the same whatever happens on the way.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from kpolicy.testing.builders import node, pod
from tests.simulation.api_server import USER
from tests.simulation.device_objects import (
    claiming,
    device,
    device_claim,
    device_class,
    extended,
    resource_slice,
)
from tests.simulation.devices import (
    CLAIMS_PATH as DEVICE_CLAIMS_PATH,
    CLASSES_PATH,
    DEVICE_CLAIMS,
    SLICES_PATH,
    users_of,
)
from tests.simulation.people import PODS
from tests.simulation.policies import GOOD, PROFILE
from tests.simulation.policy_map import NAME, kept_hash
from tests.simulation.setting import Setting
from tests.simulation.volume_objects import LOCAL, MADE, claim, storage_class, using, volume
from tests.simulation.world import World

SETTING: Final = Setting(by_config_map=True, has_volumes=True, has_devices=True)
LOOK_S: Final = 0.2
# The longest duration of a step, with a take-over and a restart in it.
STEP_S_MAX: Final = 60.0
CONVERGE_S: Final = 40.0
REST_S: Final = 15.0
_PODS: Final = "/api/v1/namespaces/default/pods"
_CLAIMS: Final = "/api/v1/namespaces/default/persistentvolumeclaims"


class StoodStillError(Exception):
    """A step did not end."""


class Story:
    def __init__(self, world: World) -> None:
        self._world = world

    async def tell(self) -> None:
        """Runs the story on two nodes for four pods each, and one with a disk and two devices."""
        for name, pool in (("node-0", "general"), ("node-1", "general"), ("node-2", "disks")):
            self._node(name, pool)
        self._post(CLASSES_PATH, device_class())
        for name in (LOCAL, MADE):
            self._post("/apis/storage.k8s.io/v1/storageclasses", storage_class(name))
        self._post("/api/v1/persistentvolumes", volume("disk", "node-2", "1Gi"))
        self._post(_CLAIMS, claim("claim-local", LOCAL, "1Gi"))
        self._post(_CLAIMS, claim("claim-made", MADE, "1Gi"))
        self._pod("disk-0", using_claim="claim-local")
        self._pod("made-0", pool="disks", using_claim="claim-made")
        self._post(SLICES_PATH, resource_slice("node-2", [device("a"), device("b", is_slow=True)]))
        self._post(DEVICE_CLAIMS_PATH, device_claim("claim-gpu"))
        self._pod("gpu-0", cpu="250m", pool="disks", using_device="claim-gpu")
        await self._until("claims", lambda: self.bound() >= {"disk-0", "made-0", "gpu-0"})
        self._pod("extended-0", cpu="250m", pool="disks", is_extended=True)
        await self._until("a claim made for a pod", lambda: "extended-0" in self.bound())
        for number in range(4):
            self._pod(f"web-{number}", priority=100, pool="general")
            self._pod(f"low-{number}", pool="general")
        await self._until("a full cluster", lambda: len(self.bound()) == 12)
        self._pod("vast-0", cpu="32")
        self._pod("vip-0", priority=1000, pool="general")
        await self._until("room for one", lambda: "vip-0" in self.bound())
        self._world.offered.put(GOOD[3])
        wanted = self._world.offered.offers[-1].hash
        await self._until("a new policy", lambda: kept_hash(self._world.api) == wanted)
        answer = self._world.api.do(USER, "DELETE", NAME.path)
        assert answer.code == 200
        self._world.offered.put(GOOD[2])
        wanted = self._world.offered.offers[-1].hash
        await self._until("another policy", lambda: kept_hash(self._world.api) == wanted)
        self._world.offered.spoil(self._world.random)
        self._pod("late-0", pool="disks")
        await self._until("a pod under a bad policy", lambda: "late-0" in self.bound())
        self._world.offered.put(GOOD[0])
        self._node("node-3", "general")
        self._pod("more-0", pool="general")
        await self._until("a node more", lambda: "more-0" in self.bound())

    def end(self) -> Counter[str]:
        """The end, which is the same in every run: how many pods of each kind are bound or wait."""
        bound, kept = self.bound(), kept_hash(self._world.api)
        found = Counter(f"{_kind(name)} bound" for name in bound)
        found.update(f"{_kind(name)} waits" for name in self._names() - bound)
        wanted = self._world.offered.offers[-1].hash
        found["policy kept"] = int(kept == wanted)
        claims = self._world.api.store.records(DEVICE_CLAIMS)
        found["claims on devices"] = sum(bool(users_of(record.object)) for record in claims)
        return found

    def bound(self) -> set[str]:
        return {name for name, pod in self._pods().items() if pod["spec"].get("nodeName")}

    def _names(self) -> set[str]:
        return set(self._pods())

    def _pods(self) -> dict[str, Any]:
        return {record.name: record.object for record in self._world.api.store.records(PODS)}

    # --- inside ----------------------------------------------------------------------------------

    async def _until(self, what: str, is_over: Callable[[], bool]) -> None:
        for _ in range(round(STEP_S_MAX / LOOK_S)):
            await asyncio.sleep(LOOK_S)
            if is_over():
                return
        raise StoodStillError(f"{what}: not after {STEP_S_MAX:.0f} s: {sorted(self.bound())}")

    def _node(self, name: str, pool: str) -> None:
        body = node(name, cpu="2", memory="4Gi", labels={"pool": pool, "disk": "ssd"})
        self._post("/api/v1/nodes", body)

    def _pod(
        self,
        name: str,
        *,
        cpu: str = "500m",
        priority: int = 0,
        pool: str = "",
        using_claim: str = "",
        using_device: str = "",
        is_extended: bool = False,
    ) -> None:
        selector = {"pool": pool} if pool else None
        body = pod(
            name,
            cpu=cpu,
            memory="64Mi",
            scheduler_name=PROFILE,
            priority=priority,
            node_selector=selector,
        )
        if using_claim:
            body = using(body, [using_claim])
        if using_device:
            body = claiming(body, [using_device])
        self._post(_PODS, extended(body) if is_extended else body)

    def _post(self, path: str, body: object) -> None:
        answer = self._world.api.do(USER, "POST", path, body)
        assert answer.code == 201, answer.body


def _kind(name: str) -> str:
    return name.rpartition("-")[0]
