"""Plugins before the queue: what they hold, in which order pods are tried, and what wakes them."""

from __future__ import annotations

import asyncio
import json
import urllib.error
from dataclasses import replace
from typing import Any

from kpolicy.plugins import Handle, Pod, Refuse, Wait
from kpolicy.policy.authority import Authority
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.plugged.test_placements import page
from tests.unit.scheduler.world import QUIET, World, free_port, running

BRIEFLY = replace(QUIET, pod_initial_backoff_s=0.1, pod_max_backoff_s=0.1)
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: kpolicy
    plugins: {permit: {disabled: [{name: Waits}]}}
  - schedulerName: other
"""


class Holding:
    """Holds the pods that a test names."""

    held: frozenset[str] = frozenset()
    asked: list[str]

    def __init__(self, handle: Handle) -> None:
        type(self).asked = []

    async def pre_enqueue(self, pod: Pod) -> Refuse | None:
        self.asked.append(pod.name)
        if pod.labels.get("fails") and self.asked.count(pod.name) == 1:
            raise RuntimeError("at first")
        return Refuse(f"{pod.name} waits for its team") if pod.name in self.held else None


class BySize:
    """The pod with the smallest label `size` first; one without is an error."""

    def __init__(self, handle: Handle) -> None:
        pass

    async def queue_key(self, pod: Pod) -> float:
        return float(pod.labels["size"])


class Waits:
    def __init__(self, handle: Handle) -> None:
        pass

    async def permit(self, pod: Pod, node: str) -> Wait:
        return Wait(600)


async def test_a_held_pod_is_not_tried_until_an_event_lets_the_plugin_be_asked_again() -> None:
    Holding.held = frozenset({"a"})
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"), pod("a"), pod("b"), pod("c", labels={"fails": "yes"}))
        options = replace(BRIEFLY, port=free_port())
        async with running(control_plane, plugins=[Holding], options=options) as world:
            await world.until(lambda: set(world.placed()) == {"b", "c"})
            text = ""
            # What becomes of the others wakes it, and it is asked about again.
            while "the plugin Holding holds it" not in text:
                await asyncio.sleep(0.3)
                text = await asyncio.to_thread(explained, world, "default/a")
            assert "is held by plugins since" in text
            assert world.events("FailedScheduling") == [], "kube-scheduler writes none either"
            Holding.held = frozenset()
            control_plane.add(node("n2"))
            await world.until(lambda: "a" in world.placed())


def explained(world: World, pod: str) -> str:
    """Empty if it was asked for less than a second ago."""
    try:
        return page(world, f"/debug/explain?pod={pod}")
    except urllib.error.HTTPError as error:
        if error.code != 429:
            raise
        return ""


async def test_a_plugin_orders_the_queue_and_pods_without_a_key_come_last() -> None:
    """Pods that wait for room are placed one after the other."""
    order: list[str] = []

    class Noting:
        def __init__(self, handle: Handle) -> None:
            pass

        async def post_bind(self, pod: Pod, node: str) -> None:
            order.append(pod.name)

    sizes = {"c": "3", "a": "1", "b": "2"}
    async with ControlPlane() as control_plane:
        control_plane.add(pod("none", priority=9))
        control_plane.add(*(pod(name, labels={"size": size}) for name, size in sizes.items()))
        # One bind at a time: they are sent in the order of decisions.
        options = replace(QUIET, binds_in_flight_max=1)
        async with running(control_plane, plugins=[BySize, Noting], options=options) as world:
            await world.until(lambda: len(world.events("FailedScheduling")) == 4)
            control_plane.add(node("n1"))
            await world.until(lambda: len(order) == 4)
            assert order == ["a", "b", "c", "none"]


async def test_a_profile_of_a_configuration_leaves_a_plugin_out() -> None:
    def compile_with(sources: Any, **more: Any) -> Compiled:
        return compile_policy(sources, authority=Authority(plugins=frozenset({"Waits"})), **more)

    source = FixedSource([Source("config.yaml", CONFIGURATION)])
    async with ControlPlane() as control_plane:
        other = json.loads(json.dumps(pod("b")))
        other["spec"]["schedulerName"] = "other"
        control_plane.add(node("n1"), pod("a"), other)
        async with running(
            control_plane, plugins=[Waits], source=source, compile_with=compile_with
        ) as world:
            await world.until(lambda: "a" in world.placed())
            metrics = world.scheduler.metrics.registry
            await world.until(
                lambda: "kpolicy_pods_waiting_on_permit 1" in metrics.render(), "b waits"
            )
            assert "b" not in world.placed()


async def test_a_run_that_is_to_end_waits_for_the_answers_of_plugins() -> None:
    Holding.held = frozenset({"a"})
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"), pod("a"), *(pod(f"p{number}") for number in range(50)))
        options = replace(QUIET, once=True)
        async with running(control_plane, plugins=[Holding], options=options, ready=False) as world:
            assert await world.task is None
            assert len(world.placed()) == 50
