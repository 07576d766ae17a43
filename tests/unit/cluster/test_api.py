"""Every request ends with a response or a typed failure, within limits, whatever happens."""

from __future__ import annotations

import asyncio
import socket

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response, Stream
from kpolicy.cluster.auth.connection import FixedAuthorization
from kpolicy.cluster.auth.tls import CertificatePair
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.request_failure import (
    Cause,
    Status,
    TimedOut,
    Unreachable,
)
from tests.unit.cluster.canned import Exchange, canned_server, replies, script, status_body
from tests.unit.cluster.doubles import client, connection


async def test_bytes_go_in_and_come_back_as_they_are() -> None:
    async with canned_server(replies(201, b"\x00raw")) as server, client(server.url) as api:
        answer = await api.request(
            "POST", "/a", {"q": "x y&z"}, b'{"b":1}', content_type="text/x", traceparent="00-t"
        )
        assert isinstance(answer, Response)
        assert (answer.status, answer.body) == (201, b"\x00raw")
        asked = server.asked[0]
        assert (asked.verb, asked.path, asked.query) == ("POST", "/a", {"q": "x y&z"})
        assert asked.body == b'{"b":1}'
        assert asked.headers["content-type"] == "text/x"
        assert asked.headers["traceparent"] == "00-t"
        assert asked.headers["accept-encoding"] == "identity"
        assert "authorization" not in asked.headers
        assert api.counts == {("POST", 201): 1}


async def test_environment_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with canned_server(replies(200)) as server, client(server.url) as api:
        assert isinstance(await api.request("GET", "/"), Response)


async def test_connections_are_reused() -> None:
    ports = set()

    async def handler(exchange: Exchange) -> None:
        ports.add(exchange.peer)
        await exchange.answer(200)

    async with canned_server(handler) as server, client(server.url) as api:
        for _ in range(5):
            await api.request("GET", "/")
    assert len(ports) == 1


async def test_no_more_connections_than_allowed_are_open_at_once() -> None:
    under_way = most = 0

    async def handler(exchange: Exchange) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        await exchange.answer(200)

    async with (
        canned_server(handler) as server,
        ApiClient(connection(server.url), SystemClock(), connections_max=3) as api,
    ):
        answers = await asyncio.gather(*(api.request("GET", "/") for _ in range(20)))
    assert all(isinstance(answer, Response) for answer in answers)
    assert most <= 3


async def test_an_error_is_a_status_with_retry_after() -> None:
    busy = replies(429, status_body(429, "TooManyRequests", "slow down"), {"Retry-After": "3"})
    async with canned_server(busy) as server, client(server.url) as api:
        answer = await api.request("GET", "/")
    assert answer == Status(429, "TooManyRequests", "slow down", 3.0)


async def test_redirects_are_not_followed() -> None:
    redirect = replies(302, b"", {"Location": "/elsewhere"})
    async with canned_server(redirect) as server, client(server.url) as api:
        answer = await api.request("GET", "/")
        assert isinstance(answer, Status)
        assert len(server.asked) == 1


async def test_an_answer_too_large_is_cut_off() -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.begin()
        while True:
            await exchange.chunk(b"x" * 4096)

    async with canned_server(endless) as server, client(server.url) as api:
        answer = await api.request("GET", "/", body_bytes_max=100_000)
    assert isinstance(answer, Unreachable)
    assert answer.cause is Cause.OVERSIZED


@pytest.mark.parametrize("began", [False, True])
async def test_a_lost_answer_counts_as_sent(began: bool) -> None:
    async def lose(exchange: Exchange) -> None:
        if began:
            await exchange.begin()
            await exchange.chunk(b"half")
        exchange.cut()

    async with canned_server(lose) as server, client(server.url) as api:
        answer = await api.request("POST", "/", body=b"{}")
        assert isinstance(answer, Unreachable)
        assert (answer.cause, answer.sent) == (Cause.LOST, True)
        assert len(server.asked) == 1
        assert api.counts == {("POST", 0): 1}


async def test_a_port_without_a_listener_counts_as_not_sent() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with client(f"http://127.0.0.1:{unused.getsockname()[1]}") as api:
            answer = await api.request("POST", "/")
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.REFUSED, False)


async def test_a_name_without_an_address_counts_as_not_sent() -> None:
    async with client("http://no-such-host.invalid") as api:
        answer = await api.request("POST", "/")
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.NAME, False)


async def test_silence_is_a_timeout() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.hang()

    async with canned_server(hang) as server, client(server.url) as api:
        assert await api.request("GET", "/", timeout_s=0.5) == TimedOut(0.5)


async def test_a_closed_client_answers_so() -> None:
    async with canned_server(replies(200)) as server:
        api = client(server.url)
        await api.request("GET", "/")
        await api.close()
        answer = await api.request("GET", "/")
        assert isinstance(answer, Unreachable)
        assert answer.cause is Cause.CLOSED


class Renewing(FixedAuthorization):
    """Gives another token after each refusal."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 0

    async def header(self) -> str | ConnectionProblem:
        return f"Bearer {self.refusals}"

    @property
    def certificate(self) -> CertificatePair | None:
        return None

    def refused(self) -> None:
        self.refusals += 1


async def test_credentials_that_ended_are_renewed_and_the_request_tried_once_more() -> None:
    answers = script(replies(401), replies(200))
    async with (
        canned_server(answers) as server,
        ApiClient(connection(server.url, Renewing()), SystemClock()) as api,
    ):
        assert isinstance(await api.request("POST", "/"), Response)
        assert [asked.headers["authorization"] for asked in server.asked] == [
            "Bearer 0",
            "Bearer 1",
        ]


async def test_credentials_refused_twice_are_a_401() -> None:
    async with (
        canned_server(replies(401)) as server,
        ApiClient(connection(server.url, Renewing()), SystemClock()) as api,
    ):
        answer = await api.request("GET", "/")
        assert isinstance(answer, Status)
        assert answer.code == 401
        assert len(server.asked) == 2


async def test_fixed_credentials_are_not_tried_twice() -> None:
    async with (
        canned_server(replies(401)) as server,
        ApiClient(connection(server.url, FixedAuthorization("Bearer x")), SystemClock()) as api,
    ):
        await api.request("GET", "/")
        assert len(server.asked) == 1


async def test_a_stream_gives_what_came_and_its_end() -> None:
    async def two(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.chunk(b"a\n")
        await exchange.chunk(b"b\n")
        await exchange.end()

    async with canned_server(two) as server, client(server.url) as api:
        async with api.stream("/w", {"watch": "1"}) as stream:
            assert isinstance(stream, Stream)
            content = b""
            while chunk := await stream.read():
                assert isinstance(chunk, bytes)
                content += chunk
        assert content == b"a\nb\n"


async def test_a_stream_that_breaks_ends_in_a_failure() -> None:
    async def half(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.chunk(b"a\n")
        exchange.cut()

    async with canned_server(half) as server, client(server.url) as api:
        async with api.stream("/w", {}) as stream:
            assert isinstance(stream, Stream)
            reads = [await stream.read()]
            while isinstance(reads[-1], bytes):
                reads.append(await stream.read())
        assert isinstance(reads[-1], Unreachable)
        assert reads[-1].cause is Cause.LOST


async def test_a_stream_refused_is_a_status() -> None:
    gone = replies(410, status_body(410, "Expired", "too old"))
    async with (
        canned_server(gone) as server,
        client(server.url) as api,
        api.stream("/w", {}) as answer,
    ):
        assert answer == Status(410, "Expired", "too old")


async def test_a_stream_whose_head_does_not_come_is_a_timeout() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.hang()

    async with (
        canned_server(hang) as server,
        client(server.url) as api,
        api.stream("/w", {}, timeout_s=0.5) as answer,
    ):
        assert answer == TimedOut(0.5)
