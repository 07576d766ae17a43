"""The scheduler with the real engine and a compiled policy, over the embedded control plane."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Scheduler
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import connection

WAIT_S = 30.0
KEEP_OFF_SPOT = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: off-spot}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - name: important-pods-stay-off-spot
      expression: "pod.priority < 5 || !('spot' in node.labels)"
      message: important pods stay off spot nodes
"""


@asynccontextmanager
async def running(
    control_plane: ControlPlane, *policies: str, binds_in_flight_max: int = 64
) -> AsyncIterator[tuple[Scheduler, Callable[[Callable[[], bool]], Any]]]:
    sources = [Source(f"policy-{number}.yaml", text) for number, text in enumerate(policies)]
    scheduler = Scheduler(
        connection(control_plane.url),
        Policies(FixedSource(sources)),
        Options(port=0, leader_elect=False, seed=1, binds_in_flight_max=binds_in_flight_max),
    )
    task = asyncio.create_task(scheduler.run())

    async def until(true: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not true():
                assert not task.done(), task.result()
                await asyncio.sleep(0.01)

    try:
        await until(lambda: scheduler.ready)
        yield scheduler, until
        scheduler.stop()
        assert await task is None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def pods(control_plane: ControlPlane) -> list[Mapping[str, Any]]:
    return list(control_plane.objects("Pod"))


def placed(control_plane: ControlPlane) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in pods(control_plane)
        if pod["spec"].get("nodeName")
    }


async def test_two_hundred_pods_on_twenty_nodes_without_a_policy() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(*(node(f"n{number:02}", cpu="4") for number in range(20)))
        control_plane.add(*(pod(f"p{number}", cpu="200m") for number in range(200)))
        async with running(control_plane) as (scheduler, until):
            await until(lambda: len(placed(control_plane)) == 200)
            on_nodes = Counter(placed(control_plane).values())
            assert set(on_nodes.values()) == {10}, "as evenly as LeastAllocated has it"
            control_plane.add(*(pod(f"wide{number}", cpu="3") for number in range(3)))
            await until(lambda: len(_conditions(control_plane)) == 3)
            assert set(_conditions(control_plane).values()) == {"Unschedulable"}
            control_plane.add(node("wide", cpu="16"))
            await until(lambda: len(placed(control_plane)) == 203)
            assert {placed(control_plane)[f"wide{number}"] for number in range(3)} == {"wide"}
            await _at_rest(scheduler)


async def test_an_expression_keeps_pods_off_nodes_until_the_policy_is_another() -> None:
    async with ControlPlane() as control_plane:
        spot = {"spot": "yes"}
        control_plane.add(*(node(f"s{number}", pods=10, labels=spot) for number in range(3)))
        control_plane.add(node("steady", pods=5))
        control_plane.add(*(pod(f"p{number}", priority=9) for number in range(8)))
        async with running(control_plane, KEEP_OFF_SPOT) as (scheduler, until):
            await until(lambda: len(_conditions(control_plane)) == 3)
            assert set(placed(control_plane).values()) == {"steady"}
            messages = [
                condition["message"]
                for pod in pods(control_plane)
                for condition in pod.get("status", {}).get("conditions", [])
                if condition["status"] == "False"
            ]
            assert all("3 important pods stay off spot nodes" in message for message in messages)
            reloaded = await scheduler.reload([])
            assert reloaded.in_force, reloaded
            await until(lambda: len(placed(control_plane)) == 8)
            await _at_rest(scheduler)


async def test_a_policy_that_reads_by_api_path_sees_objects_that_were_read_before_it() -> None:
    by_path = KEEP_OFF_SPOT.replace(
        "pod.priority < 5 || !('spot' in node.labels)",
        "has(node.spec.providerID) && node.spec.providerID.startsWith('cloud://')",
    )
    async with ControlPlane() as control_plane:
        cloud = node("in-cloud", pods=10)
        cloud["spec"]["providerID"] = "cloud://1"
        control_plane.add(cloud, node("elsewhere", pods=10))
        async with running(control_plane) as (scheduler, until):
            control_plane.add(*(pod(f"p{number}") for number in range(4)))
            await until(lambda: len(placed(control_plane)) == 4)
            assert set(placed(control_plane).values()) == {"in-cloud", "elsewhere"}
            reloaded = await scheduler.reload([Source("p.yaml", by_path)])
            assert reloaded.in_force, reloaded
            control_plane.add(*(pod(f"q{number}") for number in range(4)))
            await until(lambda: len(placed(control_plane)) == 8)
            later = {name: on for name, on in placed(control_plane).items() if name[0] == "q"}
            assert set(later.values()) == {"in-cloud"}
            await _at_rest(scheduler)


def _conditions(control_plane: ControlPlane) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: condition["reason"]
        for pod in pods(control_plane)
        for condition in pod.get("status", {}).get("conditions", [])
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    }


async def _at_rest(scheduler: Scheduler) -> None:
    """Every reservation has ended (B7), and nobody waits."""
    async with asyncio.timeout(WAIT_S):
        while json.loads(await scheduler.engine_statistics())["podsAssumed"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    statistics = scheduler.queue_statistics()
    assert statistics is not None
    assert (statistics.active, statistics.backoff, statistics.parked) == (0, 0, 0)
