"""The endpoints, over a socket."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from kpolicy.clock import background_group
from kpolicy.telemetry.health_server import Check, Checks, HttpServer, Listener, Served, judge
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
