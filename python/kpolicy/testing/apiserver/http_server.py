"""HTTP for the embedded control plane, on aiohttp's server.

A handler answers a request at once, or returns None and uses its `Reply`: to answer later, to
stream, or to break the connection as a crashing server does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qsl, unquote

from aiohttp import web

from kpolicy.clock import background_group
from kpolicy.testing import limits
from kpolicy.testing.apiserver.api_calls import TEXT, Answer, Request


class Stream:
    """A streamed answer. Lines are collected and sent together, once each turn of the loop."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._lines: list[bytes] = []
        self._unsent_bytes = 0
        self._has_news = asyncio.Event()
        self.closed = False
        self.on_closed: Callable[[], None] | None = None
        # runs as long as the stream is open
        self.beside: Callable[[], Coroutine[Any, Any, None]] | None = None

    def send(self, line: bytes) -> None:
        if self.closed:
            return
        self._lines.append(line)
        self._unsent_bytes += len(line)
        self._has_news.set()
        if self._unsent_bytes > limits.WATCH_BUFFER_BYTES_MAX:
            self.cut()

    def end(self) -> None:
        """End the stream properly: the client sees a complete response."""
        if not self.closed:
            self.closed = True
            self._has_news.set()
            if self.on_closed is not None:
                self.on_closed()

    def cut(self) -> None:
        """Break the connection."""
        self.lost()
        self._reply.cut()

    def lost(self) -> None:
        """The connection is gone: nothing more can be sent."""
        self._lines.clear()
        self.end()

    async def write_to(self, response: web.StreamResponse) -> None:
        """Send until the end. A slow client delays only its own stream."""
        while not self.closed or self._lines:
            await self._has_news.wait()
            self._has_news.clear()
            lines, self._lines, self._unsent_bytes = self._lines, [], 0
            if lines:
                await response.write(b"".join(lines))


class Reply:
    """The answer to one request, for a handler that does not answer at once."""

    def __init__(self, transport: asyncio.BaseTransport | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.content_type = TEXT
        self.outcome: asyncio.Future[Answer | Stream] = self.loop.create_future()
        self._transport = transport

    @property
    def closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def answer(self, answer: Answer) -> None:
        if not self.outcome.done():
            self.outcome.set_result(answer)

    def stream(self, content_type: str) -> Stream:
        self.content_type = content_type
        stream = Stream(self)
        self.outcome.set_result(stream)
        return stream

    def cut(self) -> None:
        """Break the connection, as a crashing server or a middlebox does."""
        if isinstance(self._transport, asyncio.Transport):
            self._transport.abort()


Handler = Callable[[Request, Reply], Answer | None]


class HttpServer:
    """Serves connections through the protocols it makes, on the loop that first asks for one."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: web.Server | None = None

    def protocol(self) -> asyncio.Protocol:
        if self._server is None:
            self._server = web.Server(
                self._serve,
                request_factory=_request,
                handler_cancellation=True,
                access_log=None,
                lingering_time=0,
                max_line_size=limits.HEADER_BYTES_MAX,
                max_field_size=limits.HEADER_BYTES_MAX,
                max_headers=limits.HEADERS_MAX,
            )
        is_full = len(self._server.connections) >= limits.CONNECTIONS_MAX
        return _Refused() if is_full else self._server()

    def cut_connections(self) -> None:
        for connection in self._server.connections if self._server is not None else ():
            if connection.transport is not None:
                connection.transport.abort()

    async def stop(self) -> None:
        self.cut_connections()
        server, self._server = self._server, None
        if server is not None:
            await server.shutdown(limits.STOP_S)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.version.major != 1:
            return web.Response(status=505)
        if (request.content_length or 0) > limits.BODY_BYTES_MAX:
            raise web.HTTPRequestEntityTooLarge(limits.BODY_BYTES_MAX, request.content_length or 0)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        path, _, query = request.raw_path.partition("?")
        asked = Request(
            request.method,
            unquote(path) if "%" in path else path,
            dict(parse_qsl(query, keep_blank_values=True)) if query else {},
            request.headers,
            await request.read(),
        )
        reply = Reply(request.transport)
        answer = self._answer(asked, reply) or await reply.outcome
        if isinstance(answer, Answer):
            headers = {"Content-Type": answer.content_type, **dict(answer.headers)}
            return web.Response(status=answer.code, body=answer.body, headers=headers)
        response = web.StreamResponse(headers={"Content-Type": reply.content_type})
        async with background_group() as group:
            try:
                await response.prepare(request)
                if answer.beside is not None:
                    group.create_task(answer.beside())
                await answer.write_to(response)
            finally:
                answer.lost()
        return response

    def _answer(self, asked: Request, reply: Reply) -> Answer | None:
        try:
            return self._handler(asked, reply)
        except Exception as error:  # our own error: the loop reports it, and the server goes on
            what = f"{asked.method} {asked.path}"
            reply.loop.call_exception_handler({"message": what, "exception": error})
            return Answer(500, b"Internal Server Error: see the server's log\n", TEXT)


class _Refused(asyncio.Protocol):
    """Breaks a connection beyond the limit at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    size_max = limits.BODY_BYTES_MAX
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=size_max)
