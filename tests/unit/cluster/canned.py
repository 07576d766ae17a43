"""An HTTP server that answers as a test asks, down to half a line and a lost answer.

It speaks HTTP/1.1 on a loopback socket and records the requests. Requests must be well-formed: they
come from the client under test.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    verb: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked = asked
        self._writer = writer

    @property
    def peer(self) -> object:
        return self._writer.get_extra_info("peername")

    @property
    def client_name(self) -> str:
        """The common name in the client's certificate."""
        certificate = self._writer.get_extra_info("peercert") or {}
        names = [value for part in certificate.get("subject", ()) for _, value in part]
        return names[0] if names else ""

    async def answer(
        self, status: int, body: bytes = b"{}", headers: dict[str, str] | None = None
    ) -> None:
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self._writer.drain()

    async def begin(self) -> None:
        self._writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self._writer.drain()

    async def chunk(self, content: bytes) -> None:
        self._writer.write(b"%x\r\n%b\r\n" % (len(content), content))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def cut(self) -> None:
        """Break the connection without an answer, or in the middle of one."""
        self._writer.transport.abort()

    def close(self) -> None:
        """After what was answered, and with a goodbye where there is TLS."""
        self._writer.close()

    async def hang(self) -> None:
        """Until the client goes away."""
        await self._writer.wait_closed()


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass
class CannedServer:
    url: str
    asked: list[Asked] = field(default_factory=list)

    def paths(self, verb: str) -> list[str]:
        return [asked.path for asked in self.asked if asked.verb == verb]


@asynccontextmanager
async def canned_server(
    handler: Handler, context: ssl.SSLContext | None = None
) -> AsyncIterator[CannedServer]:
    """Serve until the block ends; connections still open then are broken."""
    writers: set[asyncio.StreamWriter] = set()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        writers.add(writer)
        try:
            while not writer.is_closing() and (asked := await _read(reader)) is not None:
                server.asked.append(asked)
                await handler(Exchange(asked, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass  # at the end of the block; the streams of 3.11 would log it as an error
        finally:
            writers.discard(writer)
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = listener.sockets[0].getsockname()[1]
    server = CannedServer(f"{'https' if context else 'http'}://127.0.0.1:{port}")
    try:
        yield server
    finally:
        listener.close()
        for writer in list(writers):
            writer.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *rest = head.decode().rstrip().split("\r\n")
    verb, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Asked(verb, parts.path, dict(parse_qsl(parts.query)), headers, body)


def script(*answers: Handler) -> Handler:
    """The answers one after the other; the last one again and again."""
    left = list(answers)

    async def handler(exchange: Exchange) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(exchange)

    return handler


def replies(status: int, body: bytes = b"{}", headers: dict[str, str] | None = None) -> Handler:
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(status, body, headers)

    return handler


def status_body(code: int, reason: str, message: str) -> bytes:
    text = f'"status":"Failure","code":{code},"reason":"{reason}","message":"{message}"'
    return f'{{"kind":"Status","apiVersion":"v1",{text}}}'.encode()
