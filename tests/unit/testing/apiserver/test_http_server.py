"""The server of the embedded control plane: pieces of requests, late answers, broken clients."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kpolicy.testing import limits
from kpolicy.testing.apiserver.api_calls import JSON, TEXT, Answer, Request
from kpolicy.testing.apiserver.http_server import Handler, HttpServer, Reply, Stream
from tests.unit.cluster.doubles import eventually

HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
READ_S = 10


def echo(request: Request, reply: Reply) -> Answer:
    del reply
    return Answer(200, request.body, TEXT)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[tuple[HttpServer, int]]:
    http = HttpServer(handler)
    server = await asyncio.get_running_loop().create_server(http.protocol, "127.0.0.1", 0)
    try:
        yield http, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await http.stop()
        await server.wait_closed()


async def exchange(port: int, *pieces: bytes) -> bytes:
    """All that the server sends until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0)
        async with asyncio.timeout(READ_S):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_chunked_body_arrives_whole_however_it_is_cut() -> None:
    chance = random.Random(7)
    async with serving(echo) as (_, port):
        for _ in range(20):
            parts = [chance.randbytes(chance.randint(1, 20)) for _ in range(chance.randint(0, 5))]
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
            sent = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body
            cut = chance.randint(1, len(sent) - 1)
            received = await exchange(port, sent[:cut], sent[cut:])
            assert received.startswith(b"HTTP/1.1 200 OK\r\n")
            assert received.partition(b"\r\n\r\n")[2] == b"".join(parts)


async def test_a_head_is_read_with_its_query() -> None:
    seen: list[Request] = []

    def note(request: Request, reply: Reply) -> Answer:
        seen.append(request)
        return echo(request, reply)

    async with serving(note) as (_, port):
        await exchange(
            port, b"GET /api/v1/pods?a=b%20c&d= HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
    assert [(request.path, dict(request.query)) for request in seen] == [
        ("/api/v1/pods", {"a": "b c", "d": ""})
    ]


async def test_arbitrary_bytes_stop_nobody_else() -> None:
    chance = random.Random(11)
    async with serving(echo) as (_, port):
        for _ in range(30):
            await exchange(port, chance.randbytes(60) + b"\r\n\r\n")
        received = await exchange(port, HEAD + b"Content-Length: 2\r\n\r\nok")
        assert received.endswith(b"\r\n\r\nok")


async def test_a_client_that_waits_to_send_its_body_is_reported_to_go_on() -> None:
    async with serving(echo) as (_, port):
        sent = HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok"
        received = await exchange(port, sent)
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert received.endswith(b"\r\n\r\nok")


async def test_a_failing_handler_is_reported_and_the_client_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(request: Request, reply: Reply) -> Answer:
        raise RuntimeError("ours")

    async with serving(fail) as (_, port):
        received = await exchange(port, HEAD + b"Content-Length: 0\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 500 ")
    assert "POST /echo" in caplog.text


async def test_a_stream_whose_client_does_not_read_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCH_BUFFER_BYTES_MAX", 1 << 20)
    streams: list[Stream] = []

    def stream(request: Request, reply: Reply) -> Answer | None:
        del request
        streams.append(reply.stream(JSON))
        return None

    async with serving(stream) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        del reader
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await eventually(lambda: bool(streams))
        line = b"x" * 65_535 + b"\n"
        for _ in range(1000):
            streams[0].send(line)
            await asyncio.sleep(0)
            if streams[0].closed:
                break
        assert streams[0].closed
        writer.close()


async def test_an_answer_may_come_later_or_never() -> None:
    replies: list[Reply] = []

    def hold(request: Request, reply: Reply) -> Answer | None:
        del request
        replies.append(reply)
        return None

    async with serving(hold) as (http, port):
        sent = HEAD + b"Content-Length: 0\r\n\r\n"
        async with asyncio.TaskGroup() as group:
            first = group.create_task(exchange(port, sent))
            await eventually(lambda: len(replies) == 1)
            second = group.create_task(exchange(port, sent))
            await eventually(lambda: len(replies) == 2)
            replies[0].answer(Answer(200, b"late", TEXT))
            await first
            http.cut_connections()
        assert first.result().endswith(b"late")
        assert second.result() == b""
        await eventually(lambda: replies[1].closed)
