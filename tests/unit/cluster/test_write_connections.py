"""Writes come to a response or to a typed failure, over connections that are kept and bounded."""

from __future__ import annotations

import asyncio
import socket

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.credentials import FixedAuthorization
from kpolicy.cluster.failure import Cause, Failure, TimedOut, Unreachable
from tests.unit.cluster.canned import Exchange, canned_server, replies
from tests.unit.cluster.doubles import client, connection


async def post(api: ApiClient, *, timeout_s: float = 5) -> Response | Failure:
    return await api.request("POST", "/a", body=b"{}", timeout_s=timeout_s)


async def test_connections_are_reused_and_no_more_are_open_than_allowed() -> None:
    ports = set()

    async def handler(exchange: Exchange) -> None:
        ports.add(exchange.peer)
        await exchange.answer(201)

    async with (
        canned_server(handler) as server,
        ApiClient(connection(server.url), SystemClock(), connections_max=3) as api,
    ):
        for _ in range(5):
            assert isinstance(await post(api), Response)
        assert len(ports) == 1
        answers = await asyncio.gather(*(post(api) for _ in range(20)))
    assert all(isinstance(answer, Response) for answer in answers)
    assert len(ports) <= 3


async def test_a_body_in_chunks_is_put_together() -> None:
    async def chunks(exchange: Exchange) -> None:
        await exchange.begin()
        for part in (b"a" * 5000, b"b", b"c" * 70_000):
            await exchange.chunk(part)
        await exchange.end()

    async with canned_server(chunks) as server, client(server.url) as api:
        for _ in range(2):
            answer = await post(api)
            assert isinstance(answer, Response)
            assert answer.body == b"a" * 5000 + b"b" + b"c" * 70_000


async def test_an_answer_too_large_is_cut_off() -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.begin()
        while True:
            await exchange.chunk(b"x" * 4096)

    async with canned_server(endless) as server, client(server.url) as api:
        answer = await api.request("POST", "/", body=b"{}", body_bytes_max=100_000)
    assert isinstance(answer, Unreachable)
    assert answer.cause is Cause.OVERSIZED


async def test_silence_is_a_timeout_and_counts_as_sent() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.hang()

    async with canned_server(hang) as server, client(server.url) as api:
        assert await post(api, timeout_s=0.05) == TimedOut(0.05)
        assert api.counts == {("POST", 0): 1}


async def test_a_cancelled_write_leaves_nothing_of_its_answer_to_the_next() -> None:
    begun = asyncio.Event()

    async def slow_once(exchange: Exchange) -> None:
        if not begun.is_set():
            begun.set()
            await exchange.hang()
        await exchange.answer(201, b"second")

    async with canned_server(slow_once) as server, client(server.url) as api:
        first = asyncio.ensure_future(post(api))
        await begun.wait()
        first.cancel()
        answer = await post(api)
        assert isinstance(answer, Response)
        assert answer.body == b"second"


async def test_nobody_listening_counts_as_not_sent() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with client(f"http://127.0.0.1:{unused.getsockname()[1]}") as api:
            answer = await post(api)
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.REFUSED, False)


async def test_closing_the_client_ends_writes_under_way() -> None:
    begun = asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        begun.set()
        await exchange.hang()

    async with canned_server(hang) as server:
        api = client(server.url)
        under_way = asyncio.ensure_future(post(api, timeout_s=60))
        await begun.wait()
        await api.close()
        answer = await asyncio.wait_for(under_way, 10)
        assert isinstance(answer, Unreachable)
        assert (answer.cause, answer.sent) == (Cause.LOST, True)


@pytest.mark.parametrize("token", ["a\r\nX-Remote-User: admin", "a\nb"])
async def test_a_credential_cannot_add_headers(token: str) -> None:
    async with (
        canned_server(replies(201)) as server,
        ApiClient(connection(server.url, FixedAuthorization(token)), SystemClock()) as api,
    ):
        answer = await post(api)
        assert isinstance(answer, Unreachable)
        assert (answer.cause, answer.sent) == (Cause.CREDENTIALS, False)
        assert server.asked == []
