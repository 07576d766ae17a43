"""The endpoints, over a socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from kpolicy.clock import background_group
from kpolicy.telemetry.health_checks import Check, Checks, judge
from kpolicy.telemetry.health_server import HttpServer, Listener, Served
from kpolicy.telemetry.metrics import Counter, Registry
from tests.unit.telemetry.exposition import parsed

PING = Check("ping", lambda: "")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def serving(server: HttpServer) -> AsyncIterator[HttpServer]:
    assert await server.start() == ""
    try:
        async with background_group() as group:
            group.create_task(server.run())
            yield server
    finally:
        await server.stop()


async def get(url: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text(), answer.headers["Content-Type"]


def test_health_is_reported_as_kubernetes_components_tell_it() -> None:
    failing = Check("informers", lambda: "not whole yet")
    assert judge("readyz", [PING], verbose=False).text == "ok"
    assert judge("readyz", [PING], verbose=True).text == "[+]ping ok\nreadyz check passed\n"
    failed = judge("readyz", [PING, failing], verbose=False)
    assert failed.status == 500
    assert failed.text == ("[+]ping ok\n[-]informers failed: not whole yet\nreadyz check failed\n")
    assert judge("readyz", [failing], verbose=False, exclude={"informers"}).status == 200


async def test_everything_is_served() -> None:
    counter = Counter("c_total", "Counts.")
    refreshed = 0

    async def refresh() -> None:
        nonlocal refreshed
        refreshed += 1
        counter.add()

    failing = Check("sync", lambda: "not yet")
    server = HttpServer(
        Listener("127.0.0.1", free_port()),
        Served(
            Registry([counter]),
            Checks([PING], [PING], [PING, failing]),
            lambda: {"b": 1, "a": [2]},
            before_scrape=refresh,
        ),
    )
    async with serving(server):
        assert (await get(f"{server.url}/healthz"))[:2] == (200, "ok")
        assert (await get(f"{server.url}/livez?verbose"))[1].startswith("[+]ping ok")
        assert (await get(f"{server.url}/readyz"))[0] == 500
        assert (await get(f"{server.url}/readyz?exclude=sync"))[0] == 200
        assert (await get(f"{server.url}/readyz/ping"))[0] == 200
        assert (await get(f"{server.url}/readyz/sync"))[0] == 500
        assert (await get(f"{server.url}/readyz/nothing"))[0] == 404
        status, text, kind = await get(f"{server.url}/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert parsed(text)["c_total"].samples == {frozenset(): 1}
        assert refreshed == 1
        assert (await get(f"{server.url}/configz"))[1] == '{\n "a": [\n  2\n ],\n "b": 1\n}\n'
        assert (await get(f"{server.url}/elsewhere"))[0] == 404


@pytest.mark.parametrize(
    ("address", "message"), [("127.0.0.1", "in use by another"), ("203.0.113.9", "not an address")]
)
async def test_an_address_that_cannot_be_used_is_reported_in_words(
    address: str, message: str
) -> None:
    with socket.socket() as busy_socket:
        busy_socket.bind(("127.0.0.1", 0))
        busy_socket.listen()
        port = busy_socket.getsockname()[1]
        server = HttpServer(Listener(address, port), Served(Registry(), Checks(), dict))
        why = await server.start()
        assert message in why
        assert str(port) in why or address in why


SLIS = """\
# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="ping",type="livez"} 1
kubernetes_healthcheck{name="ping",type="readyz"} 1
kubernetes_healthcheck{name="sync",type="readyz"} 1
# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.
# TYPE kubernetes_healthchecks_total counter
kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1
kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 3
kubernetes_healthchecks_total{name="sync",status="error",type="readyz"} 1
kubernetes_healthchecks_total{name="sync",status="success",type="readyz"} 1
# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
"""


async def test_results_of_checks_are_counted_as_kube_scheduler_does() -> None:
    reason = "not yet"
    checks = Checks(livez=[PING], readyz=[PING, Check("sync", lambda: reason)])
    listener = Listener("127.0.0.1", free_port())
    server = HttpServer(listener, Served(Registry(), checks, dict))
    async with serving(server):
        assert (await get(f"{server.url}/readyz"))[0] == 500
        assert (await get(f"{server.url}/readyz?exclude=sync"))[0] == 200
        assert (await get(f"{server.url}/readyz/sync"))[0] == 500  # alone, it is not recorded
        reason = ""
        assert (await get(f"{server.url}/readyz"))[0] == 200
        assert (await get(f"{server.url}/livez"))[0] == 200
        status, text, kind = await get(f"{server.url}/metrics/slis")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    written, _, start = text.rpartition("process_start_time_seconds ")
    assert written == SLIS
    assert float(start) > 1_600_000_000
    assert len(parsed(text)) == 3


async def test_a_stream_makes_a_piece_when_the_one_before_was_taken_and_ends_with_its_client() -> (
    None
):
    made, closed = 0, asyncio.Event()

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal made
        try:
            while True:
                yield b"x" * 1_000_000
                made += 1
        finally:
            closed.set()

    listener = Listener("127.0.0.1", free_port())
    served = Served(Registry(), Checks(), dict, streams={"/endless": endless})
    server = HttpServer(listener, served)
    async with serving(server), aiohttp.ClientSession() as session:
        async with session.get(f"{server.url}/endless") as answer:
            assert await answer.content.readexactly(3_000_000) == b"x" * 3_000_000
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            answer.close()
        async with asyncio.timeout(10):
            await closed.wait()
    assert 3 <= made < 100
