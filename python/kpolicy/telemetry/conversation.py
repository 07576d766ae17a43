"""Stands between one connection and aiohttp's handler of its requests, and counts what arrives.

aiohttp waits without a limit for the rest of a head, and for a client that does not read.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from kpolicy.clock import Clock
from kpolicy.telemetry import limits
from kpolicy.telemetry.open_connections import OpenConnection, OpenConnections

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)
_log = logging.getLogger(__name__)


class Conversation(asyncio.Protocol):
    """`handler` is told of everything that is within the limits."""

    def __init__(
        self,
        handler: asyncio.Protocol,
        connection: OpenConnection,
        connections: OpenConnections,
        clock: Clock,
    ) -> None:
        self._handler = handler
        self._connection = connection
        self._connections = connections
        self._clock = clock
        self._transport: asyncio.Transport | None = None
        self._has_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connection.abort = transport.abort
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._has_refused:
            return
        if self._connection.received(len(data), self._clock.monotonic_ns()):
            self._handler.data_received(data)
        else:
            self._refuse()

    def eof_received(self) -> bool | None:
        return self._handler.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.forget(self._connection)
        self._handler.connection_lost(exc)

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()

    def _refuse(self) -> None:
        assert self._transport is not None, "data arrives on a transport"
        self._has_refused = True
        _log.warning(
            "a client of the health server sent more than %d bytes ahead of an answer: closed",
            limits.HTTP_UNREAD_BYTES_MAX,
            extra={"peer": self._connection.peer},
        )
        if self._connection.is_answering:
            self._transport.abort()
        else:
            self._transport.write(_TOO_LARGE)
            self._transport.close()
