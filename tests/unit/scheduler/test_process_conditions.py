"""How often the scheduler writes the status of a pod that fits nowhere: once for each thing that it
has to say, as kube-scheduler does, whatever the generation of the pod."""

from __future__ import annotations

from typing import Any

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import MERGE_PATCH, ApiClient, Response
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import World, connection, running


def patches(control_plane: ControlPlane, name: str) -> int:
    return sum(
        entry.verb == "patch" and entry.subresource == "status" and entry.name == name
        for entry in control_plane.audit()
    )


def condition(world: World, name: str) -> dict[str, Any]:
    conditions = world.pods()[name].get("status", {}).get("conditions", [])
    return next((dict(each) for each in conditions if each["type"] == "PodScheduled"), {})


async def change_the_spec(control_plane: ControlPlane, name: str, times: int) -> None:
    async with ApiClient(connection(control_plane.url), SystemClock()) as api:
        for count in range(1, times + 1):
            keys = ", ".join(f'{{"key": "k{each}", "operator": "Exists"}}' for each in range(count))
            body = f'{{"spec": {{"tolerations": [{keys}]}}}}'.encode()
            path = f"/api/v1/namespaces/default/pods/{name}"
            answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
            assert isinstance(answer, Response)


async def delete(control_plane: ControlPlane, name: str) -> None:
    async with ApiClient(connection(control_plane.url), SystemClock()) as api:
        path = f"/api/v1/namespaces/default/pods/{name}"
        answer = await api.request("DELETE", path, {"gracePeriodSeconds": "0"})
        assert isinstance(answer, Response)


async def test_each_failure_is_written_once() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1", cpu="8"), pod("first", cpu="5"), pod("third", cpu="5"))
        fillers = [pod("full-1", cpu="5", node_name="n1"), pod("full-2", cpu="5", node_name="n2")]
        control_plane.add(*fillers, pod("small", cpu="1", node_name="n1"))
        await change_the_spec(control_plane, "third", times=2)
        async with running(control_plane) as world:
            waiting = ("first", "third")
            await world.until(lambda: all(condition(world, name) for name in waiting))
            generations = [condition(world, name)["observedGeneration"] for name in waiting]
            assert generations == [1, 3]
            assert [patches(control_plane, name) for name in waiting] == [1, 1]

            tried = sum(world.engine.batches)
            await delete(control_plane, "small")
            await world.until(lambda: sum(world.engine.batches) >= tried + 2)
            control_plane.add(node("n2", cpu="8"))
            await world.until(
                lambda: all("0/2 nodes" in condition(world, name)["message"] for name in waiting)
            )
            assert [patches(control_plane, name) for name in waiting] == [2, 2], (
                "one more for the new message, none for the one that was repeated"
            )
