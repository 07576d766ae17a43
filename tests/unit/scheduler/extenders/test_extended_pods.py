"""Pods with extenders, while the cluster and the policy change during the calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import Response
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.cluster.doubles import client
from tests.unit.scheduler.test_process_real_engine import placed, running


@dataclass
class Extender:
    """Holds every question until `answer` is set, then keeps what `keep` says."""

    url: str = ""
    asked: list[list[str]] = field(default_factory=list)
    keep: set[str] = field(default_factory=set)
    answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def filter(self, request: web.Request) -> web.Response:
        args = json.loads(await request.read())
        self.asked.append(args["NodeNames"])
        await self.answer.wait()
        kept = [name for name in args["NodeNames"] if name in self.keep]
        return web.json_response({"NodeNames": kept})


@asynccontextmanager
async def extender(*keep: str) -> AsyncIterator[Extender]:
    extender = Extender(keep=set(keep))
    app = web.Application()
    app.router.add_post("/filter", extender.filter)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    extender.url = f"http://127.0.0.1:{port}"
    try:
        yield extender
    finally:
        extender.answer.set()
        await runner.cleanup()


def policy(*extenders: dict[str, Any]) -> str:
    base = {"filterVerb": "filter", "nodeCacheCapable": True}
    return json.dumps(
        {
            "apiVersion": "kpolicy.dev/v1alpha1",
            "kind": "SchedulingPolicy",
            "metadata": {"name": "asks"},
            "spec": {
                "base": "kube-scheduler-default",
                "profiles": [{"schedulerName": "kpolicy"}],
                "extenders": [{**base, **extender} for extender in extenders],
            },
        }
    )


async def delete(control_plane: ControlPlane, path: str) -> None:
    async with client(control_plane.url, SystemClock()) as api:
        answer = await api.request("DELETE", f"/api/v1/{path}", {"gracePeriodSeconds": "0"})
        assert isinstance(answer, Response), answer


async def test_a_reload_while_an_extender_is_asked_asks_the_new_one() -> None:
    async with ControlPlane() as control_plane, extender("n1") as old, extender("n2") as new:
        control_plane.add(node("n1"), node("n2"))
        async with running(control_plane, policy({"urlPrefix": old.url})) as (scheduler, until):
            control_plane.add(pod("p"))
            await until(lambda: len(old.asked) == 1)
            # The rules are the same: only who is asked differs.
            source = Source("policy.yaml", policy({"urlPrefix": new.url}))
            assert (await scheduler.reload([source])).result == "loaded"
            new.answer.set()
            old.answer.set()
            await until(lambda: placed(control_plane) == {"p": "n2"})


async def test_a_node_that_goes_while_an_extender_is_asked_is_not_chosen() -> None:
    async with ControlPlane() as control_plane, extender("n1", "n2") as answering:
        control_plane.add(node("n1"))
        async with running(control_plane, policy({"urlPrefix": answering.url})) as (_, until):
            control_plane.add(pod("p"))
            await until(lambda: answering.asked == [["n1"]])
            control_plane.add(node("n2"))
            await delete(control_plane, "nodes/n1")
            await asyncio.sleep(0.2)  # the watch is ahead of the answer
            answering.answer.set()
            await until(lambda: placed(control_plane) == {"p": "n2"})
            assert answering.asked[-1] == ["n2"]


async def test_a_pod_that_goes_while_an_extender_is_asked_is_let_go() -> None:
    async with ControlPlane() as control_plane, extender("n1") as answering:
        control_plane.add(node("n1"))
        async with running(control_plane, policy({"urlPrefix": answering.url})) as (
            scheduler,
            until,
        ):
            control_plane.add(pod("p"))
            await until(lambda: len(answering.asked) == 1)
            await delete(control_plane, "namespaces/default/pods/p")
            answering.answer.set()
            control_plane.add(pod("q"))
            await until(lambda: placed(control_plane) == {"q": "n1"})
            await until(
                lambda: (
                    (now := scheduler.queue_statistics()) is not None
                    and now.attempts_under_way == 0
                )
            )
            statistics = json.loads(await scheduler.engine_statistics())
            assert statistics["podsAssumed"] <= 1


async def test_certificates_that_cannot_be_read_change_nothing() -> None:
    async with (
        ControlPlane() as control_plane,
        running(control_plane, policy()) as (scheduler, _),
    ):
        bad = {"urlPrefix": "https://x", "tlsConfig": {"caFile": "/no/such/file"}}
        garbled = {"urlPrefix": "https://x", "tlsConfig": {"caData": "***"}}
        for wrong in (bad, garbled):
            reloaded = await scheduler.reload([Source("policy.yaml", policy(wrong))])
            assert reloaded.problem is not None
            assert reloaded.problem.code == "KPS204"
            assert scheduler.policy is not None
            assert scheduler.policy.generation == 1
