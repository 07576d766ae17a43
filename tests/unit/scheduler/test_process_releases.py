"""A running scheduler speaks as the release that it follows: conditions, events, metrics."""

from __future__ import annotations

import json
from functools import partial

import aiohttp
import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.release_table import RELEASES
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import free_port, on_port, running
from tests.unit.telemetry.exposition import parsed

REASONS = "0/1 nodes are available: 1 Insufficient cpu."
PREEMPTION = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("release", "before", "added", "has_entities"),
    [
        ("1.36", "no new claims to deallocate, ", "UnschedulablePodAdd", False),
        ("", "", "UnscheduledPodAdd", True),
    ],
    ids=["asked for", "of the cluster"],
)
async def test_texts_events_and_metrics_are_those_of_the_release(
    release: str, before: str, added: str, has_entities: bool
) -> None:
    port = free_port()
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="1"), pod("big", cpu="6"))
        async with running(
            control_plane,
            options=on_port(port),
            source=FixedSource(),
            compile_with=partial(compile_policy, every_pod=True, release=release),
        ) as world:
            await world.until(lambda: len(world.events("FailedScheduling")) == 1)
            await world.until(lambda: bool(world.pods()["big"]["status"].get("conditions")))
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
                async with session.get("/configz") as answer:
                    shown = json.loads(await answer.text())
                async with session.get("/metrics") as answer:
                    families = parsed(await answer.text())
    message = f"{REASONS} {before}{PREEMPTION}"
    [event] = world.events("FailedScheduling")
    [condition] = world.pods()["big"]["status"]["conditions"]
    assert (event["message"], condition["message"]) == (message, message)
    assert shown["release"]["release"] == (release or RELEASES[-1])
    assert shown["clusterVersion"].startswith(f"v{RELEASES[-1]}.")
    labels = {dict(key)["event"] for key in families["scheduler_queue_incoming_pods_total"].samples}
    assert added in labels
    entities = families["scheduler_queued_entities"].samples
    assert {dict(key)["type"] for key in entities} == ({"pod"} if has_entities else set())
