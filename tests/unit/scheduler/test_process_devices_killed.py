"""Whatever write a scheduler is killed at, the next one binds its pods, and every device that is
allocated has its pod."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest

from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Scheduler
from kpolicy.testing import Drop, RequestFault, node, pod
from kpolicy.testing.apiserver.api_calls import Call, WatchFault
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.test_process_devices import (
    claim,
    claims,
    device_class,
    devices_held,
    resource_slice,
    user_of,
)
from tests.unit.scheduler.test_process_real_engine import placed, running
from tests.unit.scheduler.world import connection

RESOURCE = "example.com/gpu"
WRITES = 8  # more than a pod takes
COUNTED = ("resourceclaims", "pods")


class KillAt:
    """Breaks the connection at the write of this number, and says so."""

    def __init__(self, number: int, drop: Drop) -> None:
        self._left, self._drop = number, drop
        self.reached = asyncio.Event()

    def on_request(self, call: Call) -> RequestFault | None:
        if call.verb in ("get", "list", "watch") or call.resource not in COUNTED:
            return None
        self._left -= 1
        if self._left:
            return RequestFault(drop=Drop.BEFORE_COMMIT) if self._left < 0 else None
        self.reached.set()
        return RequestFault(drop=self._drop)

    def on_watch_event(self, call: Call) -> WatchFault:
        return WatchFault.NONE


def asking(name: str) -> dict[str, Any]:
    """A pod that asks for a device by an extended resource."""
    made = dict(pod(name))
    (container,) = made["spec"]["containers"]
    amounts = {**container.get("resources", {}).get("requests", {}), RESOURCE: "1"}
    container = {**container, "resources": {"requests": amounts, "limits": {RESOURCE: "1"}}}
    made["spec"] = {**made["spec"], "containers": [container]}
    return made


async def run_until_killed(control_plane: ControlPlane, kill: KillAt, pods: int) -> None:
    control_plane.faults = kill
    scheduler = Scheduler(
        connection(control_plane.url),
        Policies(FixedSource([])),
        Options(port=0, leader_elect=False, seed=1),
    )
    task = asyncio.create_task(scheduler.run())
    for _ in range(3000):
        if kill.reached.is_set() or len(placed(control_plane)) == pods:
            break
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("number", "drop"),
    list(product(range(1, WRITES + 1), (Drop.BEFORE_COMMIT, Drop.AFTER_COMMIT))),
)
async def test_the_next_scheduler_binds_what_the_killed_one_left(number: int, drop: Drop) -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(device_class(extendedResourceName=RESOURCE), node("n0"))
        control_plane.add(resource_slice("n0", 2), claim("c"), user_of("p", "c"), asking("q"))
        await run_until_killed(control_plane, KillAt(number, drop), pods=2)
        control_plane.faults = None
        async with running(control_plane) as (_, until):
            await until(lambda: len(placed(control_plane)) == 2)
            held = devices_held(control_plane)
            assert len(held) == len(set(held)) == 2
            users = [
                sorted(user["name"] for user in each["status"]["reservedFor"])
                for each in claims(control_plane).values()
            ]
            assert sorted(users) == [["p"], ["q"]]
