"""The kubelet stand-in, on a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kpolicy.testing import RUN_SECONDS_ANNOTATION, ControlPlane, KubeletTimes, pod
from kpolicy.testing.apiserver.object_writes import DeleteOptions, carry_out
from kpolicy.testing.kubelet import next_step
from kpolicy.testing.objects.pod_admission import condition
from kpolicy.testing.objects.resource_types import PODS
from tests.manual_clock import ManualClock

TIMES = KubeletTimes(start_s=2, stop_s=1)


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.control_plane = ControlPlane(clock=self.clock, kubelet=TIMES)

    def add(self, name: str, node: str | None = "n1", **fields: Any) -> None:
        self.control_plane.add(pod(name, node_name=node, **fields))

    def pod(self, name: str) -> Any:
        record = self.control_plane.store.read(PODS, "default", name)
        return None if record is None else record.object

    def phase(self, name: str) -> str:
        phase: str = self.pod(name)["status"]["phase"]
        return phase

    def delete(self, name: str) -> None:
        record = self.control_plane.store.read(PODS, "default", name)
        assert record is not None
        carry_out(self.control_plane.store, record, DeleteOptions(), self.clock.now_ns())

    async def pass_(self, seconds: float) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        await self.clock.advance(seconds)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    async with made.control_plane:
        yield made


async def test_a_bound_pod_runs_after_a_while(world: World) -> None:
    world.add("a")
    await world.pass_(1.9)
    assert world.phase("a") == "Pending"
    await world.pass_(0.2)
    running = world.pod("a")
    assert running["status"]["phase"] == "Running"
    assert running["status"]["podIP"].startswith("10.")
    for type_ in ("Initialized", "Ready", "ContainersReady"):
        found = condition(running["status"], type_)
        assert found is not None
        assert found["status"] == "True"
    (status,) = running["status"]["containerStatuses"]
    assert (status["name"], status["ready"]) == ("main", True)


async def test_a_pod_without_a_node_waits(world: World) -> None:
    world.add("a", node=None)
    await world.pass_(60)
    assert world.phase("a") == "Pending"


async def test_it_sees_pods_bound_later_and_addresses_differ(world: World) -> None:
    world.add("a")
    await world.pass_(1)
    world.add("b")
    await world.pass_(1.1)
    assert (world.phase("a"), world.phase("b")) == ("Running", "Pending")
    await world.pass_(1)
    assert world.phase("b") == "Running"
    assert world.pod("a")["status"]["podIP"] != world.pod("b")["status"]["podIP"]


async def test_a_pod_finishes_when_it_says_so(world: World) -> None:
    world.add("a", annotations={RUN_SECONDS_ANNOTATION: "10"})
    await world.pass_(2.1)
    assert world.phase("a") == "Running"
    await world.pass_(10.1)
    assert world.phase("a") == "Succeeded"
    ready = condition(world.pod("a")["status"], "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


@pytest.mark.parametrize("text", ["soon", "-1", "inf", "nan"])
async def test_a_nonsense_duration_is_for_ever(world: World, text: str) -> None:
    world.add("a", annotations={RUN_SECONDS_ANNOTATION: text})
    await world.pass_(1000)
    assert world.phase("a") == "Running"


async def test_a_deleted_pod_is_gone_after_a_while(world: World) -> None:
    world.add("a")
    await world.pass_(3)
    world.delete("a")
    await world.pass_(0.5)
    assert world.pod("a")["metadata"]["deletionTimestamp"]
    await world.pass_(0.6)
    assert world.pod("a") is None


async def test_a_finalizer_holds_what_the_kubelet_has_ended(world: World) -> None:
    body = pod("a", node_name="n1")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    world.control_plane.add(body)
    await world.pass_(3)
    world.delete("a")
    await world.pass_(5)
    assert world.pod("a")["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_a_pod_recreated_under_the_name_starts_again(world: World) -> None:
    world.add("a")
    await world.pass_(1)
    record = world.control_plane.store.read(PODS, "default", "a")
    assert record is not None
    carry_out(world.control_plane.store, record, DeleteOptions(0), world.clock.now_ns())
    world.add("a")
    await world.pass_(1.5)
    assert world.phase("a") == "Pending"
    await world.pass_(1)
    assert world.phase("a") == "Running"


async def test_pods_bound_before_it_started_run_too() -> None:
    world = World()
    world.add("a")
    async with world.control_plane:
        await world.pass_(3)
        assert world.phase("a") == "Running"


async def test_a_great_many_pods_all_run(world: World) -> None:
    for number in range(500):
        world.add(f"p{number}")
    await world.pass_(2.1)
    for _ in range(20):
        await asyncio.sleep(0)
    phases = [held["status"]["phase"] for held in world.control_plane.objects("Pod")]
    assert phases == ["Running"] * 500


def test_a_pod_at_rest_has_no_next_step() -> None:
    finished = pod("a", node_name="n1") | {"status": {"phase": "Succeeded"}}
    assert next_step(finished, TIMES) is None
