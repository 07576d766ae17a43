"""A client's connection on the event loop.

Owns the socket side of HTTP: buffering what came, one request after the other, answers at once or
later, streams, back-pressure and cutting off. Assumes a handler that answers, or takes the
exchange over by returning None. Must not know Kubernetes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kpolicy.testing import limits
from kpolicy.testing.apiserver.wire import (
    CONTINUE,
    LAST_CHUNK,
    TEXT,
    Answer,
    Head,
    Malformed,
    Request,
    chunk,
    framed,
    parse_chunked,
    parse_head,
    stream_head,
)

Handler = Callable[[Request, "Connection"], Answer | None]

_EMPTY: Final = b""


class Stream:
    """An answer that goes on: lines are gathered and leave together once a turn of the loop."""

    __slots__ = ("_connection", "_flush_planned", "_lines", "closed", "on_closed")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lines: list[bytes] = []
        self._flush_planned = False
        self.closed = False
        self.on_closed: Callable[[], None] | None = None

    def send(self, line: bytes) -> None:
        if self.closed:
            return
        self._lines.append(line)
        if not self._flush_planned:
            self._flush_planned = True
            self._connection.loop.call_soon(self._flush)

    def end(self) -> None:
        """The proper end: the client sees a complete answer."""
        if not self.closed:
            self._flush()
            self._close()
            self._connection.stream_ended()

    def cut(self) -> None:
        """The connection breaks."""
        self._connection.cut()

    def lost(self) -> None:
        self._close()

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            self._lines.clear()
            if self.on_closed is not None:
                self.on_closed()

    def _flush(self) -> None:
        self._flush_planned = False
        if self.closed or not self._lines:
            return
        data = _EMPTY.join(self._lines)
        self._lines.clear()
        if self._connection.unread_bytes > limits.WATCH_BUFFER_BYTES_MAX:
            self.cut()
        else:
            self._connection.write(chunk(data))


class Connection(asyncio.Protocol):
    def __init__(self, handler: Handler, open_connections: set[Connection]) -> None:
        self.loop = asyncio.get_running_loop()
        self._handler = handler
        self._open = open_connections
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: Head | None = None
        self._busy: Request | None = None  # whose answer is still to come
        self._stream: Stream | None = None
        self._running = False

    # --- what a handler that took over calls -----------------------------------------------------

    def answer(self, answer: Answer) -> None:
        request, self._busy = self._busy, None
        self._send(answer, keep_alive=request is not None and request.keep_alive)
        self._proceed()

    def stream(self, content_type: str) -> Stream:
        self._stream = Stream(self)
        self.write(stream_head(content_type))
        return self._stream

    def cut(self) -> None:
        """Break the connection, as a crashing server or a middlebox does."""
        if self._transport is not None:
            self._transport.abort()
        self._forget()

    def stream_ended(self) -> None:
        self._stream = None
        request, self._busy = self._busy, None
        self.write(LAST_CHUNK)
        if self._transport is not None and (request is None or not request.keep_alive):
            self._transport.close()
        self._proceed()

    @property
    def closed(self) -> bool:
        return self._transport is None

    @property
    def unread_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    # --- what the event loop calls ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._open) >= limits.CONNECTIONS_MAX:
            self.cut()
        else:
            self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._proceed()

    # --- one request after the other -------------------------------------------------------------

    def _proceed(self) -> None:
        if self._running:  # an answer given within the handler comes back here
            return
        self._running = True
        try:
            while self._busy is None and self._transport is not None and self._buffer:
                request = self._next_request()
                if request is None:
                    break
                self._serve(request)
        finally:
            self._running = False
        self._throttle()

    def _serve(self, request: Request) -> None:
        self._busy = request
        try:
            answer = self._handler(request, self)
        except Exception as error:  # a fault of ours: told to the loop, and the client goes on
            self.loop.call_exception_handler(
                {"message": f"{request.method} {request.path}", "exception": error}
            )
            answer = Answer(500, b"Internal Server Error: see the server's log\n", TEXT)
        if answer is not None:
            self._busy = None
            self._send(answer, keep_alive=request.keep_alive)

    def _next_request(self) -> Request | None:
        if self._head is None:
            parsed = parse_head(self._buffer)
            if parsed is None:
                return None
            if isinstance(parsed, Malformed):
                self._refuse(parsed)
                return None
            self._head, size = parsed
            del self._buffer[:size]
            if self._head.expects_continue:
                self.write(CONTINUE)
        body = self._body(self._head)
        if body is None:
            return None
        request = self._head.request
        self._head = None
        if not body:
            return request
        return Request(
            request.method, request.path, request.query, request.headers, body, request.keep_alive
        )

    def _body(self, head: Head) -> bytes | None:
        buffer = self._buffer
        if head.length >= 0:
            if len(buffer) < head.length:
                return None
            body = bytes(buffer[: head.length])
            del buffer[: head.length]
            return body
        parsed = parse_chunked(buffer)
        if isinstance(parsed, Malformed):
            self._refuse(parsed)
            return None
        if parsed is None:
            return None
        body, size = parsed
        del buffer[:size]
        return body

    def _refuse(self, malformed: Malformed) -> None:
        self._buffer.clear()
        self._send(Answer(malformed.code, malformed.message.encode(), TEXT), keep_alive=False)

    def _send(self, answer: Answer, *, keep_alive: bool) -> None:
        self.write(framed(answer, keep_alive=keep_alive))
        if not keep_alive and self._transport is not None:
            self._transport.close()
            self._buffer.clear()

    def _throttle(self) -> None:
        """While an answer is held up, do not gather without end what comes after."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self._busy is not None and len(self._buffer) > limits.AHEAD_BYTES_MAX:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _forget(self) -> None:
        self._transport = None
        self._open.discard(self)
        self._buffer.clear()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.lost()
