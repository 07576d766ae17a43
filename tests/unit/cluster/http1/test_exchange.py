"""What can go wrong below a write when it is sealed, each as the failure that it is."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.request_failure import Cause, Failure, TimedOut, Unreachable
from tests.unit.cluster import certificates as pem
from tests.unit.cluster.canned import Exchange, canned_server
from tests.unit.cluster.doubles import connection

Served = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def client(url: str) -> ApiClient:
    material = TlsMaterial.load(TlsSource(pem.AUTHORITY))
    assert isinstance(material, TlsMaterial)
    return ApiClient(connection(url, tls=material), SystemClock())


async def post(api: ApiClient, timeout_s: float = 5) -> Response | Failure:
    return await api.request("POST", "/a", body=b"{}", timeout_s=timeout_s)


@asynccontextmanager
async def listening(serve: Served) -> AsyncIterator[str]:
    """On a bare socket, for a client that expects TLS."""
    served: set[asyncio.Task[None]] = set()

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.add(task)
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(taken, "127.0.0.1", 0)
    try:
        yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        # The client is gone: what it was served ends by itself.
        await asyncio.wait_for(asyncio.gather(*served), 10)


@dataclass
class Tap:
    """Forwards to a server, and says bytes of its own to the clients when told."""

    port: int
    clients: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.append(writer)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self.port)
        await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
    finally:
        writer.close()


async def test_a_server_that_never_shakes_hands_is_a_timeout_before_anything_was_sent() -> None:
    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(4096):
                pass
        finally:
            ended.set()

    async with listening(silent) as url, client(url) as api:
        assert await post(api, 0.1) == TimedOut(0.1, sent=False)
        await asyncio.wait_for(ended.wait(), 10)  # the connection is not left behind


async def test_a_server_that_hangs_up_in_the_handshake_refuses() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)

    async with listening(hang_up) as url, client(url) as api:
        answer = await post(api)
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.REFUSED, False)
    assert "handshake" in answer.message


async def test_a_server_that_speaks_no_tls_is_told_apart() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    async with listening(plain) as url, client(url) as api:
        answer = await post(api)
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.TLS, False)


async def test_a_forged_record_loses_the_connection_and_the_next_write_has_another(
    tmp_path: Path,
) -> None:
    asked = asyncio.Event()

    async def slow_once(exchange: Exchange) -> None:
        if not asked.is_set():
            asked.set()
            await exchange.hang()
        await exchange.answer(201)

    async with canned_server(slow_once, pem.server_context(tmp_path)) as server:
        tap = Tap(int(server.url.rpartition(":")[2]))
        async with listening(tap.serve) as url, client(url) as api:
            first = asyncio.ensure_future(post(api))
            await asked.wait()
            tap.clients[0].write(b"\x17\x03\x03\x00\x20" + b"x" * 32)
            answer = await first
            assert isinstance(answer, Unreachable)
            assert (answer.cause, answer.sent) == (Cause.LOST, True)
            assert isinstance(await post(api), Response)
            assert len(tap.clients) == 2


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_versions_of_tls_are_spoken(tmp_path: Path, version: ssl.TLSVersion) -> None:
    ports = set()

    async def answered(exchange: Exchange) -> None:
        ports.add(exchange.peer)
        await exchange.answer(201, b"x" * 40_000)

    context = pem.server_context(tmp_path)
    context.minimum_version = context.maximum_version = version
    async with canned_server(answered, context) as server, client(server.url) as api:
        for _ in range(3):
            answer = await post(api)
            assert isinstance(answer, Response)
            assert len(answer.body) == 40_000
    assert len(ports) == 1
