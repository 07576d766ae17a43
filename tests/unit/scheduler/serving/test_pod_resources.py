"""/metrics/resources of a running scheduler, over a socket, and the stream alone with many pods."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

from kpolicy.clock import SystemClock
from kpolicy.engine import Engine
from kpolicy.scheduler.runtime import EngineThread
from kpolicy.scheduler.serving.pod_resources import PodResourceStream
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import free_port, on_port, running
from tests.unit.telemetry.exposition import parsed

REQUEST, LIMIT = "kube_pod_resource_request", "kube_pod_resource_limit"
MEBIBYTE = 1 << 20
PODS = 5_000


def container(name: str, requests: dict[str, str], **limits: str) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": {"requests": requests, "limits": limits}}


def samples(text: str, family: str) -> dict[tuple[str, str], tuple[float, dict[str, str]]]:
    """By pod and resource."""
    found = {}
    for labels, value in parsed(text)[family].samples.items():
        named = dict(labels)
        found[named.pop("pod"), named.pop("resource")] = (value, named)
    return found


async def test_requests_and_limits_are_those_of_kube_scheduler() -> None:
    wide = pod("wide")
    wide["spec"] = {
        "schedulerName": "kpolicy",
        "priority": 7,
        "containers": [
            container("a", {"cpu": "250m", "memory": "64Mi"}, cpu="1"),
            container("b", {"hugepages-2Mi": "4Mi", "x.io/gpu": "2", "cpu": "0"}),
        ],
        "initContainers": [container("first", {"cpu": "900m"}, memory="1Gi")],
        "overhead": {"cpu": "50m", "memory": "1Mi"},
    }
    ended = pod("ended")
    ended["spec"]["nodeName"] = "n"
    ended["status"] = {"phase": "Succeeded"}
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="4"), pod("fits", cpu="1500m"), wide, ended)
        async with running(control_plane, options=on_port(free_port())) as world:
            await world.until(lambda: "fits" in world.placed() and not world.engine.assumed)
            url = world.scheduler.url + "/metrics/resources"
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                assert answer.status == 200
                text = await answer.text()
    families = parsed(text)
    assert {name: family.kind for name, family in families.items()} == {
        REQUEST: "gauge",
        LIMIT: "gauge",
    }
    assert families[REQUEST].help.startswith("[STABLE] Resources requested by workloads on the ")
    assert families[LIMIT].help.startswith("[STABLE] Resources limit for workloads on the cluster")
    of_wide = {"namespace": "default", "node": "", "scheduler": "kpolicy", "priority": "7"}
    requests, limits = samples(text, REQUEST), samples(text, LIMIT)
    assert {key[1]: found for key, found in requests.items() if key[0] == "wide"} == {
        "cpu": (0.95, {**of_wide, "unit": "cores"}),
        # an init container without requests asks for its limit
        "memory": (1025 * MEBIBYTE, {**of_wide, "unit": "bytes"}),
        "hugepages-2Mi": (4 * MEBIBYTE, {**of_wide, "unit": "bytes"}),
        "x.io/gpu": (2, {**of_wide, "unit": ""}),
    }
    assert {key[1]: found for key, found in limits.items() if key[0] == "wide"} == {
        "cpu": (1.05, {**of_wide, "unit": "cores"}),
        "memory": (1025 * MEBIBYTE, {**of_wide, "unit": "bytes"}),
    }
    value, labels = requests["fits", "cpu"]
    assert (value, labels["node"], labels["unit"]) == (1.5, "n", "cores")
    assert {name for name, _ in requests} == {"fits", "wide"}


async def test_many_pods_come_in_pieces_and_only_from_the_leader() -> None:
    engine, leads = Engine(), False
    items = [
        {
            "metadata": {"name": f"p{number}", "namespace": "n", "uid": f"u{number}"},
            "spec": {"containers": [container("c", {"cpu": "1", "memory": "1Gi"}, cpu="2")]},
        }
        for number in range(PODS)
    ]
    engine.list_begin("pods")
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
    engine.list_page("pods", json.dumps(body).encode(), 0)
    engine.list_end("pods", 0)
    thread = EngineThread(engine, SystemClock(), SchedulerMetrics())
    stream = PodResourceStream(thread, lambda: leads)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    try:
        assert [piece async for piece in stream.pieces()] == []
        leads = True
        beside = asyncio.create_task(others())
        pieces = [piece async for piece in stream.pieces()]
        beside.cancel()
    finally:
        thread.stop()
    assert len(pieces) >= 2 + 2 * PODS / 1_000
    assert max(map(len, pieces)) < 1_000_000
    assert turns >= len(pieces) - 2
    text = b"".join(pieces).decode()
    assert len(samples(text, REQUEST)) == 2 * PODS
    assert len(samples(text, LIMIT)) == PODS
