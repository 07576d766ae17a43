"""One kept-alive connection for writes: sends a request and receives its answer, one at a time.

`TlsStream` encrypts through one buffer that all connections share. asyncio's own TLS keeps 256 KiB
for each connection and allocates as much again for each read.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol, cast

from kpolicy.cluster.http1.answer_reader import AnswerReader
from kpolicy.cluster.limits import TLS_RECORD_BYTES_MAX


class Stream(Protocol):
    def write(self, data: bytes) -> None: ...

    def abort(self) -> None: ...


class Exchange(asyncio.Protocol):
    """`idle_since_s` is the loop's time when the last answer was complete."""

    def __init__(self, generation: int) -> None:
        self.generation = generation  # of the certificates in use when it was opened
        self.idle_since_s = 0.0
        self.open = False
        self._stream: Stream | None = None
        self._reader: AnswerReader | None = None
        self._answer: asyncio.Future[AnswerReader] | None = None

    async def ask(self, request: bytes, body_bytes_max: int, timeout_s: float) -> AnswerReader:
        """Send a request and return its answer.

        Raises OSError (also TimeoutError) or ValueError, and closes the connection then.
        """
        assert self._stream is not None
        assert self._answer is None, "one request at a time"
        loop = asyncio.get_running_loop()
        self._reader = AnswerReader(body_bytes_max)
        answer: asyncio.Future[AnswerReader] = loop.create_future()
        self._answer = answer
        timer = loop.call_later(timeout_s, self._fail, TimeoutError())
        try:
            self._stream.write(request)
            reader = await answer
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
            self._answer = self._reader = None
        if not reader.is_reusable:
            self.close()
        self.idle_since_s = loop.time()
        return reader

    def opened(self, stream: Stream) -> None:
        self._stream = stream
        self.open = True

    def close(self) -> None:
        self.open = False
        if self._stream is not None:
            self._stream.abort()

    # --- asyncio.Protocol ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.opened(cast("asyncio.Transport", transport))

    def data_received(self, data: bytes) -> None:
        reader, answer = self._reader, self._answer
        if reader is None or answer is None or answer.done():
            self.close()  # no request was sent
            return
        try:
            reader.feed(data)
        except ValueError as error:
            self._fail(error)
            return
        if reader.whole:
            answer.set_result(reader)

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        reader, answer = self._reader, self._answer
        if reader is None or answer is None or answer.done():
            return
        if error is None and reader.ended():
            answer.set_result(reader)
        else:
            self._fail(error or ConnectionResetError("the server closed the connection"))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class TlsStream(asyncio.BufferedProtocol):
    """Encrypts between the socket and an exchange. The exchange is opened when the handshake is
    done."""

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
        """Wait for the handshake. Raises OSError (also `ssl.SSLError`), and closes the
        connection then."""
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
            self._send()  # the server may log the reason for our refusal
            self._fail(error)
            return
        self._send()
        self._is_open = True
        self._exchange.opened(self)
        self._shaken.set_result(None)

    def _fail(self, error: Exception) -> None:
        if not self._shaken.done():
            self._shaken.set_exception(error)
            self._shaken.exception()  # mark it as retrieved: whoever waited may have given up

    def _open_records(self) -> None:
        try:
            while data := self._tls.read(TLS_RECORD_BYTES_MAX):
                self._exchange.data_received(data)
        except ssl.SSLWantReadError:
            self._send()  # answers within TLS itself, such as a change of keys
            return
        except ssl.SSLError as error:
            self._exchange.connection_lost(error)
        self.abort()

    def _send(self) -> None:
        if self._transport is not None and self._sent.pending:
            self._transport.write(self._sent.read())
