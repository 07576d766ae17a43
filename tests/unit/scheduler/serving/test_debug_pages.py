"""The pages of /debug over a socket, and the comparer's report of a wrong cache."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import World, free_port, on_port, running
from tests.unit.telemetry.exposition import parsed


def parked(world: World) -> int:
    statistics = world.scheduler.queue_statistics()
    return statistics.parked if statistics is not None else 0


def line(change: str, found: Mapping[str, Any]) -> bytes:
    return json.dumps({"type": change, "object": found}).encode() + b"\n"


async def get(world: World, path: str) -> tuple[int, str]:
    """Asked again while it is another's turn."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        while True:
            async with session.get(world.scheduler.url + path) as answer:
                if answer.status != 429:
                    return answer.status, await answer.text()
                assert answer.headers["Retry-After"] == "1"
            await asyncio.sleep(0.05)


async def test_a_parked_pod_says_where_it_waits_and_who_is_unknown_is_not_found() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=1), pod("first", priority=1), pod("second"))
        async with running(control_plane, options=on_port(free_port())) as world:
            await world.until(lambda: "first" in world.placed())
            await world.until(lambda: parked(world) > 0)
            status, text = await get(world, "/debug/explain?pod=default/second")
            assert status == 200
            assert text.startswith("default/second: ")
            assert "is parked since " in text
            assert "tried once" in text
            assert "tried again within " in text
            status, text = await get(world, "/debug/explain?pod=second&output=json")
            shown = json.loads(text)
            assert shown["pod"] == "default/second"
            assert shown["queue"]["lane"] == "unschedulable"
            assert shown["queue"]["attempts"] == 1
            status, text = await get(world, "/debug/explain?pod=default/secnd")
            assert status == 404
            assert "did you mean `default/second`?" in text
            assert (await get(world, "/debug/explain"))[0] == 400
            assert (await get(world, "/debug/explain?pod=second&output=xml"))[0] == 400


async def test_a_right_cache_compares_clean_and_a_wrong_one_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=2), *(pod(f"p{number}") for number in range(4)))
        async with running(control_plane, options=on_port(free_port())) as world:
            await world.until(lambda: len(world.placed()) == 2)
            await world.until(lambda: not world.engine.assumed)
            status, text = await get(world, "/debug/compare")
            assert status == 200
            shown = json.loads(text)
            assert (shown["nodes"], shown["pods"], shown["queued"]) == (1, 4, 2)
            assert (shown["differences"], shown["listed"]) == (0, [])
            lost = world.pods()[min(world.placed())]
            world.engine.watch("pods", line("DELETED", lost), 0)
            world.engine.watch("nodes", line("ADDED", node("ghost")), 0)
            shown = json.loads((await get(world, "/debug/compare"))[1])
            assert shown["differences"] == 2
            assert {(entry["what"], entry["side"]) for entry in shown["listed"]} == {
                ("pods", "missed"),
                ("nodes", "redundant"),
            }
            assert shown["passes"] == 2
            codes = [vars(record).get("code") for record in caplog.records]
            assert codes.count("KPS303") == 3
            async with (
                aiohttp.ClientSession() as session,
                session.get(world.scheduler.url + "/metrics") as answer,
            ):
                samples = parsed(await answer.text())["kpolicy_comparer_differences"].samples
            assert samples[frozenset({("what", "pods"), ("side", "missed")})] == 1
            assert sum(samples.values()) == 2
            assert len(samples) == 15


async def test_the_dump_names_every_pod_of_the_queue(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="kpolicy")
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=1), *(pod(f"p{number}") for number in range(4)))
        async with running(control_plane) as world:
            await world.until(lambda: len(world.placed()) == 1)
            await world.until(lambda: parked(world) == 3 and not world.engine.assumed)
            await world.until(lambda: not world.engine.assumed)
            world.scheduler.dump()
            await world.until(lambda: "the queue holds 3 pods" in caplog.messages)
        queued = {message for message in caplog.messages if message.startswith("queued: ")}
        assert len(queued) == 3


async def test_the_longest_waits_are_listed_with_the_rules_that_reject() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=1), *(pod(f"p{number}") for number in range(4)))
        async with running(control_plane, options=on_port(free_port())) as world:
            await world.until(lambda: parked(world) == 3 and not world.engine.assumed)
            status, text = await get(world, "/debug/queue?limit=2")
            assert status == 200
            first, second = json.loads(text)["pods"]
            assert (first["queue"], first["attempts"]) == ("unschedulable", 1)
            assert first["rejectedBy"] == ["NodeResourcesFit"]
            assert first["pendingSeconds"] >= second["pendingSeconds"]
            assert len(json.loads((await get(world, "/debug/queue"))[1])["pods"]) == 3
            assert (await get(world, "/debug/queue?limit=0"))[0] == 400
            assert (await get(world, "/debug/queue?limit=9999"))[0] == 400


RULE = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: of-a-test}
spec:
  profiles: [{schedulerName: kpolicy}]
  base: none
  variables:
    - {name: disk, expression: "label(node, 'disk')"}
  predicates:
    - builtin: NodeResourcesFit
    - {name: only-ssd, expression: variables.disk == 'ssd', message: no ssd}
"""


PARTS = """\
variables.disk == 'ssd'    false
└─ variables.disk          "hdd"
   └─ label(node, 'disk')  "hdd"
"""


async def test_the_parts_of_a_rule_are_shown_for_a_pod_and_a_node() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", labels={"disk": "hdd"}), pod("web"))
        source = FixedSource([Source("policy.yaml", RULE)])
        async with running(control_plane, options=on_port(free_port()), source=source) as world:
            await world.until(lambda: parked(world) == 1)
            asked = "/debug/rule?pod=default/web&node=n&rule="
            status, text = await get(world, f"{asked}only-ssd")
            assert status == 200
            assert text == PARTS
            assert (await get(world, f"{asked}NodeResourcesFit"))[0] == 404
            assert (await get(world, "/debug/rule?pod=web&node=none&rule=only-ssd"))[0] == 404
            assert (await get(world, "/debug/rule?pod=web"))[0] == 400


async def test_what_would_place_a_pod_and_the_pods_of_a_namespace() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="2"), pod("large", cpu="3"), pod("larger", cpu="4"))
        async with running(control_plane, options=on_port(free_port())) as world:
            await world.until(lambda: parked(world) == 2)
            _, text = await get(world, "/debug/explain?pod=large&advice=1")
            assert "request 2 cpu instead of 3" in text
            _, text = await get(world, "/debug/explain?pod=large&advice=1&output=json")
            (suggestion,) = json.loads(text)["advice"]["suggestions"]
            assert (suggestion["kind"], suggestion["node"]) == ("request", "n")
            _, text = await get(world, "/debug/explain?namespace=default&output=json")
            assert json.loads(text)["rejectedBy"] == {"NodeResourcesFit": 2}
            _, text = await get(world, "/debug/explain?namespace=default")
            assert text.startswith("the namespace default: 2 pods, 0 on nodes\n")
            assert (await get(world, "/debug/explain?namespace=default&pod=large"))[0] == 400
            # Nothing came of it.
            assert parked(world) == 2
