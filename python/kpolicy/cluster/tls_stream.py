"""TLS for a connection of small requests and answers, in as little memory as those need.

asyncio's own keeps 256 KiB for each connection and takes as much again for each read: connections
that come and go leave holes of that size among all else that lives long. Owns the handshake and
what is sealed and opened. Assumes one event loop, and that what was read is taken at once: all
connections read into the same `buffer`. Must not know what the bytes mean.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import cast

from kpolicy.cluster.exchange import Exchange
from kpolicy.cluster.limits import TLS_RECORD_BYTES_MAX


class TlsStream(asyncio.BufferedProtocol):
    """Between the socket and an exchange, which is told of the connection once it is `ready`."""

    def __init__(
        self, exchange: Exchange, context: ssl.SSLContext, server_name: str, buffer: bytearray
    ) -> None:
        self._exchange = exchange
        self._buffer = memoryview(buffer)
        self._received, self._sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._sent, server_hostname=server_name)
        self._transport: asyncio.Transport | None = None
        self._shaken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_open = False

    async def ready(self) -> None:
        """Raises OSError, of which `ssl.SSLError` is one; the connection is lost then."""
        try:
            await self._shaken
        except BaseException:
            self.abort()
            raise

    # --- for the exchange ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Raises `ssl.SSLError`."""
        left = memoryview(data)
        while left:
            left = left[self._tls.write(left) :]
        self._send()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio.BufferedProtocol ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._received.write(self._buffer[:nbytes])
        if not self._is_open:
            self._shake_hands()
        if self._is_open:
            self._open_records()

    def connection_lost(self, error: Exception | None) -> None:
        if self._is_open:
            self._exchange.connection_lost(error)
        else:
            self._fail(error or ConnectionResetError("closed in the TLS handshake"))

    # --- TLS -------------------------------------------------------------------------------------

    def _shake_hands(self) -> None:
        if self._shaken.done():
            return
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._send()
            return
        except ssl.SSLError as error:
            self._send()  # the server may log why we refuse it
            self._fail(error)
            return
        self._send()
        self._is_open = True
        self._exchange.opened(self)
        self._shaken.set_result(None)

    def _fail(self, error: Exception) -> None:
        if not self._shaken.done():
            self._shaken.set_exception(error)
            self._shaken.exception()  # seen: whoever waited may have given up

    def _open_records(self) -> None:
        try:
            while data := self._tls.read(TLS_RECORD_BYTES_MAX):
                self._exchange.data_received(data)
        except ssl.SSLWantReadError:
            self._send()  # answers to what only TLS reads, such as a change of keys
            return
        except ssl.SSLError as error:
            self._exchange.connection_lost(error)
        self.abort()

    def _send(self) -> None:
        if self._transport is not None and self._sent.pending:
            self._transport.write(self._sent.read())
