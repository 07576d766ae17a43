"""Clients that misuse the health server keep nobody from /livez, and are closed in time."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import resource
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from kpolicy.clock import background_group
from kpolicy.telemetry import limits
from kpolicy.telemetry.health_checks import Check, Checks
from kpolicy.telemetry.health_server import (
    HttpServer,
    Listener,
    Page,
    Served,
    names_loopback,
)
from kpolicy.telemetry.metrics import Registry
from tests.manual_clock import ManualClock
from tests.unit.telemetry.test_health_server import free_port, serving

HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
ANSWERED_S = 10  # generous: a machine of tests may be busy
PING = Check("ping", lambda: "")


def server(clock: ManualClock | None = None) -> HttpServer:
    async def large(_: object) -> Page:
        return Page("x" * 8_000_000)

    return HttpServer(
        Listener("127.0.0.1", free_port()),
        Served(Registry(), Checks([PING], [PING], [PING]), dict, pages={"/debug/large": large}),
        clock,
    )


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def rest(self) -> bytes:
        """Everything until the server closes the connection; fails if it does not."""
        read = b""
        async with asyncio.timeout(ANSWERED_S):
            try:
                while chunk := await self.reader.read(65536):
                    read += chunk
            except ConnectionError:
                pass
        return read


async def client(stack: AsyncExitStack, port: int, sent: bytes) -> Client:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    stack.callback(writer.close)
    writer.write(sent)
    return Client(reader, writer)


async def answer(port: int, request: bytes) -> bytes:
    async with AsyncExitStack() as stack:
        return await (await client(stack, port, request)).rest()


def port_of(server: HttpServer) -> int:
    return int(server.url.rpartition(":")[2])


async def is_alive(port: int) -> bool:
    return (await answer(port, HEAD + b"Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def test_more_half_open_requests_than_there_may_be_connections() -> None:
    async with serving(server()) as served, AsyncExitStack() as stack:
        port = port_of(served)
        clients = [await client(stack, port, HEAD) for _ in range(5 * limits.HTTP_CONNECTIONS_MAX)]
        assert await is_alive(port)
        # Those that were there first have been closed.
        closed = [await half_open.rest() for half_open in clients[: limits.HTTP_CONNECTIONS_MAX]]
        assert set(closed) == {b""}


async def test_a_head_that_comes_byte_by_byte_is_closed_in_time() -> None:
    clock = ManualClock()
    async with serving(server(clock)) as served, AsyncExitStack() as stack:
        slow = await client(stack, port_of(served), HEAD)
        assert await is_alive(port_of(served))  # by then, the head before has been read in part
        for _ in range(round(limits.HTTP_HEAD_S) + 2):
            slow.writer.write(b"X")
            await clock.advance(1)
        assert await slow.rest() == b""


async def test_a_client_that_does_not_read_its_answer_is_closed_in_time() -> None:
    clock = ManualClock()
    async with serving(server(clock)) as served, AsyncExitStack() as stack:
        request = b"GET /debug/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
        stuck = await client(stack, port_of(served), request)
        assert (await stuck.reader.readexactly(15)) == b"HTTP/1.1 200 OK"
        for _ in range(round(limits.HTTP_ANSWER_S) + 2):
            await clock.advance(1)
        assert len(await stuck.rest()) < 8_000_000


@pytest.mark.parametrize(
    ("request_bytes", "status", "lines"),
    [
        (HEAD + b"X-Long: " + 1_000_000 * b"a" + b"\r\n\r\n", b"431", 1),
        (HEAD + b"X-Long: " + (limits.HTTP_FIELD_BYTES_MAX + 1) * b"a" + b"\r\n\r\n", b"400", 1),
        (1000 * (HEAD + b"\r\n"), b"431", 1),
        (HEAD + b"Content-Length: 5\r\n\r\nhello", b"413", 0),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", b"413", 0),
        (b"no HTTP\r\n\r\n", b"400", 0),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421", 0),
    ],
)
async def test_a_request_that_no_client_needs_is_refused_with_at_most_one_line(
    request_bytes: bytes, status: bytes, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(server()) as served, AsyncExitStack() as stack:
        port = port_of(served)
        caplog.clear()
        sender = await client(stack, port, request_bytes)
        async with asyncio.timeout(ANSWERED_S):
            try:
                assert (await sender.reader.readexactly(12))[9:] == status
            except ConnectionError:  # it was closed while we were sending
                assert status == b"431"
        assert await is_alive(port)
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == lines
    for record in warnings:
        assert record.exc_info is None
        assert len(record.getMessage()) < 500


async def test_requests_that_are_sent_ahead_are_answered_in_order() -> None:
    second = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    async with serving(server()) as served:
        text = await answer(port_of(served), HEAD + b"\r\n" + second)
    assert re.findall(rb"HTTP/1.1 (\d+)", text) == [b"200", b"404"]


@contextmanager
def no_files_left() -> Iterator[None]:
    """The process has room for no other file, but for a spare one of the server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    fillers = []
    try:
        while True:
            try:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for filler in fillers:
            os.close(filler)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_without_a_file_for_a_connection_a_spare_one_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    async with serving(server()) as served:
        assert await is_alive(port_of(served))  # it runs, and has its spare file
        await asyncio.sleep(0.2)  # until both ends of that connection are closed
        with socket.socket() as prober:  # a file as well: it is opened before
            prober.setblocking(False)
            with no_files_left():
                await loop.sock_connect(prober, ("127.0.0.1", port_of(served)))
                await loop.sock_sendall(prober, HEAD + b"\r\n")
                async with asyncio.timeout(ANSWERED_S):
                    assert (await loop.sock_recv(prober, 12)) == b"HTTP/1.1 200"
    assert len([record for record in caplog.records if "ulimit" in record.getMessage()]) == 1


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost", True),
        ("localhost:10259", True),
        ("127.0.0.1:10259", True),
        ("[::1]:10259", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("10.0.0.1:10259", False),
        ("[", False),
        ("", False),
        (None, False),
    ],
)
def test_which_hosts_name_this_machine(host: str | None, is_own: bool) -> None:
    assert names_loopback(host) is is_own


async def test_an_address_that_others_reach_has_any_host() -> None:
    port = free_port()
    served = HttpServer(
        Listener("0.0.0.0", port), Served(Registry(), Checks([PING], [PING], [PING]), dict)
    )
    async with serving(served):
        request = b"GET /livez HTTP/1.1\r\nHost: kpolicy.example\r\nConnection: close\r\n\r\n"
        assert (await answer(port, request)).startswith(b"HTTP/1.1 200")


async def test_it_ends_with_the_group_that_runs_it() -> None:
    served = server()
    assert await served.start() == ""
    async with background_group() as group:
        group.create_task(served.run())
        assert await is_alive(port_of(served))
    await served.stop()
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port_of(served))
