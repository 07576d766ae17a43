"""The examples of the guide, in a scheduler with the real engine."""

from __future__ import annotations

import asyncio
import importlib
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import QUIET, World, running

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "plugins"
BRIEFLY = replace(QUIET, pod_initial_backoff_s=0.1, pod_max_backoff_s=0.1)


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def example(module: str, name: str) -> type:
    found: type = getattr(importlib.import_module(module), name)
    return found


def member(name: str, at_least: int) -> dict[str, object]:
    group = "pod-group.example.com"
    labels = {f"{group}/name": "g", f"{group}/min-available": str(at_least)}
    return dict(pod(name, cpu="1", labels=labels))


async def test_a_gang_is_bound_when_enough_of_its_pods_have_a_place() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1", cpu="8"), member("a", 3), member("b", 3), pod("alone"))
        plugins = [example("coscheduling", "Coscheduling")]
        async with running(control_plane, plugins=plugins) as world:
            await world.until(lambda: waiting(world) == 2 and "alone" in world.placed())
            assert set(world.placed()) == {"alone"}
            control_plane.add(member("c", 3))
            await world.until(lambda: set(world.placed()) == {"alone", "a", "b", "c"})
            control_plane.add(member("d", 3))
            await world.until(lambda: "d" in world.placed(), "the group is complete already")


async def test_a_gang_that_is_not_complete_in_time_gives_its_places_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSCHEDULING_SECONDS", "0.3")
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1", cpu="2"), member("a", 3), member("b", 3))
        plugins = [example("coscheduling", "Coscheduling")]
        async with running(control_plane, plugins=plugins) as world:
            await world.until(lambda: len(world.events("FailedScheduling")) >= 2)
            messages = " ".join(event["message"] for event in world.events("FailedScheduling"))
            assert "rejected due to timeout after waiting 300ms at plugin Coscheduling" in messages
            control_plane.add(pod("alone", cpu="2"))
            await world.until(lambda: "alone" in world.placed())


async def test_a_quota_holds_pods_back_until_others_have_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ELASTIC_QUOTA", "default=2")
    async with ControlPlane() as control_plane:
        names = [f"p{number}" for number in range(5)]
        control_plane.add(node("n1", cpu="8"), *(pod(name, cpu="1") for name in names))
        plugins = [example("quota", "ElasticQuota")]
        async with running(control_plane, plugins=plugins, options=BRIEFLY) as world:
            await world.until(lambda: len(world.placed()) == 2 and held(world) == 3)
            first = next(iter(world.placed()))
            await asyncio.to_thread(delete, control_plane, first)
            await world.until(lambda: len(world.placed()) == 2 and first not in world.placed())
            await world.until(lambda: held(world) == 2)


def waiting(world: World) -> int:
    rendered = world.scheduler.metrics.registry.render()
    line = next(r for r in rendered.splitlines() if r.startswith("kpolicy_pods_waiting_on_permit "))
    return int(float(line.split()[1]))


def held(world: World) -> int:
    statistics = world.scheduler.queue_statistics()
    return statistics.gated + statistics.parked if statistics is not None else 0


def delete(control_plane: ControlPlane, name: str) -> None:
    url = f"{control_plane.url}/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0"
    with urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=30):
        pass
