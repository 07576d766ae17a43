"""Every write ends with a response or a typed failure, over a limited number of connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.auth.connection import FixedAuthorization
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.request_failure import Cause, Failure, TimedOut, Unreachable
from tests.unit.cluster import certificates as pem
from tests.unit.cluster.canned import CannedServer, Exchange, Handler, canned_server, replies
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

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.add(task)
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
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


async def test_a_server_that_speaks_no_tls_is_distinguished() -> None:
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


@dataclass(frozen=True)
class Wire:
    """What writes go over: HTTP as it is, or sealed."""

    context: SSLContext | None = None
    tls: TlsMaterial | None = None

    @property
    def scheme(self) -> str:
        return "https" if self.context else "http"

    def server(self, handler: Handler) -> AbstractAsyncContextManager[CannedServer]:
        return canned_server(handler, self.context)

    def client(self, url: str, *, token: str = "", connections_max: int = 128) -> ApiClient:
        to = connection(url, FixedAuthorization(token) if token else None, self.tls)
        return ApiClient(to, SystemClock(), connections_max=connections_max)


@pytest.fixture(params=["plain", "tls"])
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Wire:
    if request.param == "plain":
        return Wire()
    material = TlsMaterial.load(TlsSource(pem.AUTHORITY))
    assert isinstance(material, TlsMaterial)
    return Wire(pem.server_context(tmp_path), material)


async def test_connections_are_reused_and_no_more_are_open_than_allowed(wire: Wire) -> None:
    ports = set()

    async def handler(exchange: Exchange) -> None:
        ports.add(exchange.peer)
        await exchange.answer(201)

    async with (
        wire.server(handler) as server,
        wire.client(server.url, connections_max=3) as api,
    ):
        for _ in range(5):
            assert isinstance(await post(api), Response)
        assert len(ports) == 1
        answers = await asyncio.gather(*(post(api) for _ in range(20)))
    assert all(isinstance(answer, Response) for answer in answers)
    assert len(ports) <= 3


async def test_a_body_in_chunks_is_put_together(wire: Wire) -> None:
    async def chunks(exchange: Exchange) -> None:
        await exchange.begin()
        for part in (b"a" * 5000, b"b", b"c" * 70_000):
            await exchange.chunk(part)
        await exchange.end()

    async with wire.server(chunks) as server, wire.client(server.url) as api:
        for _ in range(2):
            answer = await post(api)
            assert isinstance(answer, Response)
            assert answer.body == b"a" * 5000 + b"b" + b"c" * 70_000


async def test_an_answer_too_large_is_cut_off(wire: Wire) -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.begin()
        while True:
            await exchange.chunk(b"x" * 4096)

    async with wire.server(endless) as server, wire.client(server.url) as api:
        answer = await api.request("POST", "/", body=b"{}", body_bytes_max=100_000)
    assert isinstance(answer, Unreachable)
    assert answer.cause is Cause.OVERSIZED


async def test_silence_is_a_timeout_and_counts_as_sent(wire: Wire) -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.hang()

    async with wire.server(hang) as server, wire.client(server.url) as api:
        assert await post(api, timeout_s=1.0) == TimedOut(1.0)
        assert api.counts == {("POST", 0): 1}


async def test_a_write_whose_time_is_up_before_its_turn_is_not_sent(wire: Wire) -> None:
    """As after a pause of the process: by then another replica may lead."""
    seen, begun = 0, asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        nonlocal seen
        seen += 1
        begun.set()
        await asyncio.sleep(0.4)
        await exchange.answer(201)

    async with (
        wire.server(slow) as server,
        wire.client(server.url, connections_max=1) as api,
        asyncio.TaskGroup() as tasks,
    ):
        first = tasks.create_task(post(api))
        await begun.wait()
        assert await post(api, timeout_s=0.1) == TimedOut(0.1, sent=False)
        assert isinstance(await first, Response)
    assert seen == 1


async def test_a_cancelled_write_leaves_nothing_of_its_answer_to_the_next(wire: Wire) -> None:
    begun = asyncio.Event()

    async def slow_once(exchange: Exchange) -> None:
        if not begun.is_set():
            begun.set()
            await exchange.hang()
        await exchange.answer(201, b"second")

    async with wire.server(slow_once) as server, wire.client(server.url) as api:
        first = asyncio.ensure_future(post(api))
        await begun.wait()
        first.cancel()
        answer = await post(api)
        assert isinstance(answer, Response)
        assert answer.body == b"second"


async def test_a_port_without_a_listener_counts_as_not_sent(wire: Wire) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with wire.client(f"{wire.scheme}://127.0.0.1:{unused.getsockname()[1]}") as api:
            answer = await post(api)
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.REFUSED, False)


async def test_closing_the_client_ends_writes_under_way(wire: Wire) -> None:
    begun = asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        begun.set()
        await exchange.hang()

    async with wire.server(hang) as server:
        api = wire.client(server.url)
        under_way = asyncio.ensure_future(post(api, timeout_s=60))
        await begun.wait()
        await api.close()
        answer = await asyncio.wait_for(under_way, 10)
        assert isinstance(answer, Unreachable)
        assert (answer.cause, answer.sent) == (Cause.LOST, True)


@pytest.mark.parametrize("token", ["a\r\nX-Remote-User: admin", "a\nb"])
async def test_a_credential_cannot_add_headers(wire: Wire, token: str) -> None:
    async with (
        wire.server(replies(201)) as server,
        wire.client(server.url, token=token) as api,
    ):
        answer = await post(api)
        assert isinstance(answer, Unreachable)
        assert (answer.cause, answer.sent) == (Cause.CREDENTIALS, False)
        assert server.asked == []


async def test_a_long_write_and_its_long_answer_are_whole(wire: Wire) -> None:
    """Longer than a TLS record, and than what is read at once."""

    async def echo(exchange: Exchange) -> None:
        await exchange.answer(201, exchange.asked.body)

    body = bytes(range(256)) * 8_000
    async with wire.server(echo) as server, wire.client(server.url) as api:
        for sent in (body, b"{}", body):
            answer = await api.request("POST", "/a", body=sent)
            assert isinstance(answer, Response)
            assert answer.body == sent


async def test_writes_side_by_side_get_each_its_own_answer(wire: Wire) -> None:
    async def echo(exchange: Exchange) -> None:
        await exchange.begin()
        for at in range(0, len(exchange.asked.body), 7_000):
            await exchange.chunk(exchange.asked.body[at : at + 7_000])
        await exchange.end()

    bodies = [bytes([index]) * 50_000 for index in range(40)]
    async with wire.server(echo) as server, wire.client(server.url) as api:
        answers = await asyncio.gather(*(api.request("POST", "/a", body=body) for body in bodies))
    assert [answer.body for answer in answers if isinstance(answer, Response)] == bodies


async def test_an_answer_cut_off_in_its_middle_is_lost(wire: Wire) -> None:
    async def cut(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.chunk(b"half")
        exchange.cut()

    async with wire.server(cut) as server, wire.client(server.url) as api:
        answer = await post(api)
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.LOST, True)


async def test_a_connection_that_the_server_closed_is_not_used_again(wire: Wire) -> None:
    closed = asyncio.Event()

    async def once(exchange: Exchange) -> None:
        await exchange.answer(201)
        exchange.close()
        closed.set()

    async with wire.server(once) as server, wire.client(server.url) as api:
        for _ in range(3):
            assert isinstance(await post(api), Response)
            await closed.wait()
            closed.clear()
            for _ in range(20):
                await asyncio.sleep(0.005)  # word of it takes some turns of the loop
