"""Exceptions of aiohttp become values with messages for people."""

from __future__ import annotations

import socket

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.request_failure import Cause, Unreachable
from tests.unit.cluster.canned import Exchange, canned_server
from tests.unit.cluster.doubles import client


async def refused(api: ApiClient) -> Unreachable:
    failure = await api.request("GET", "/version")
    assert isinstance(failure, Unreachable)
    return failure


async def test_a_port_without_a_listener_is_explained() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with client(f"http://127.0.0.1:{port}") as api:
        failure = await refused(api)
    assert failure == Unreachable(
        Cause.REFUSED, f"127.0.0.1:{port}: connection refused", sent=False
    )


async def test_an_answer_that_breaks_off() -> None:
    async def half(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.chunk(b'{"kind":')
        exchange.cut()

    async with canned_server(half) as server, client(server.url) as api:
        failure = await refused(api)
    assert failure.cause is Cause.LOST
    assert failure.sent
    assert str(failure) == "the connection broke in the middle of an answer"
