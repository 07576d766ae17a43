"""A successful answer that is not an API object, such as a proxy's page, at every kind of call:
only that call fails.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Scheduler
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.cluster.doubles import connection
from tests.unit.scheduler.extenders.test_extended_pods import policy
from tests.unit.scheduler.garbled import garbled
from tests.unit.scheduler.test_process_real_engine import placed

WAIT_S = 60.0
# The calls after the start that were kept from the API server in this test, each at least once.
KINDS = {
    "DELETE /api/v1/namespaces/default/pods/*",
    "GET /api/v1/namespaces/default/pods/*",
    "GET /api/v1/nodes",
    "PATCH /api/v1/namespaces/default/pods/*/status",
    "POST /api/v1/namespaces/default/pods/*/binding",
    "PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/*",
}


async def _filter(request: web.Request) -> web.Response:
    args = json.loads(await request.read())
    return web.json_response({"Nodes": args["Nodes"]})


async def _preempt(request: web.Request) -> web.Response:
    args = json.loads(await request.read())
    left = {
        name: {"Pods": [{"UID": each["metadata"]["uid"]} for each in victims["Pods"]]}
        for name, victims in args["NodeNameToVictims"].items()
    }
    return web.json_response({"NodeNameToMetaVictims": left})


@asynccontextmanager
async def extender() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/filter", _filter)
    app.router.add_post("/preempt", _preempt)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    yield f"http://127.0.0.1:{port}"
    await runner.cleanup()


@pytest.mark.parametrize(
    "page",
    [b"<html>log in</html>", b"[]", b"null", b'{"metadata": 1}', b"[" * 100_000],
    ids=["html", "list", "null", "no object", "deep"],
)
async def test_pages_in_place_of_answers_stop_nothing(page: bytes) -> None:
    async with (
        ControlPlane(kubelet=None) as control_plane,
        extender() as url,
        garbled(control_plane.url, page) as proxy,
    ):
        control_plane.add(node("n1", cpu="4"))
        asks = {"urlPrefix": url, "preemptVerb": "preempt", "nodeCacheCapable": False}
        scheduler = Scheduler(
            connection(proxy.url),
            Policies(FixedSource([Source("policy.yaml", policy(asks))])),
            Options(port=0, leader_elect=True, lease_retry_s=0.1, seed=1),
        )
        task = asyncio.create_task(scheduler.run())
        try:
            async with asyncio.timeout(WAIT_S):
                while not scheduler.ready:
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.01)
                proxy.on = True
                control_plane.add(*(pod(f"low-{number}", cpu="1") for number in range(4)))
                while len(placed(control_plane)) < 4:
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.01)
                number = 0
                while not set(proxy.kept) >= KINDS:
                    # A victim that could not be read leaves the pod parked; so one after the other.
                    control_plane.add(pod(f"high-{number}", cpu="1", priority=10))
                    number += 1
                    for _ in range(30):
                        assert not task.done(), task.result()
                        await asyncio.sleep(0.01)
        finally:
            scheduler.stop()
            assert await asyncio.wait_for(task, WAIT_S) is None
        assert set(proxy.kept) >= KINDS
