"""Kept-alive connections for writes: each sends a request and receives its answer, one at a time.

Most requests of a scheduler are small writes. They do not go through aiohttp's client, which costs
1.6 times as much processor time for each bind (docs/dependencies.md). Proxies are not supported
here. `TlsStream` encrypts through one buffer that all connections share: asyncio's own TLS keeps
256 KiB for each connection and allocates as much again for each read.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol, cast
from urllib.parse import urlsplit

from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.connection_problem import one_line
from kpolicy.cluster.fenced_request import FENCED, always
from kpolicy.cluster.http1.answer_reader import AnswerReader, OversizedAnswerError
from kpolicy.cluster.limits import (
    CONNECT_TIMEOUT_S,
    KEEPALIVE_S,
    TLS_RECORD_BYTES_MAX,
    WRITE_READ_BYTES,
)
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    TimedOut,
    Unreachable,
)


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
            self._shaken.exception()  # mark it as retrieved: the waiting task may have given up

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


class WriteConnections:
    def __init__(
        self, connection: Connection, *, headers: tuple[tuple[str, str], ...], connections_max: int
    ) -> None:
        self._connection = connection
        address = urlsplit(connection.server)
        self._host = address.hostname or ""
        self._port = address.port or (443 if address.scheme == "https" else 80)
        self._prefix = address.path
        self._is_secure = address.scheme == "https"
        fixed = (("Host", address.netloc.rpartition("@")[2]), *headers)
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in fixed)
        self._fixed_lines = len(fixed)
        self._read_buffer = bytearray(WRITE_READ_BYTES)
        self._idle: deque[Exchange] = deque()
        self._all: set[Exchange] = set()
        self._turns = asyncio.Semaphore(connections_max)
        self._closed = False

    async def ask(
        self,
        verb: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        body_bytes_max: int,
        may_send: Callable[[], bool] = always,
    ) -> AnswerReader | Failure:
        if (request := self._request(verb, target, body, headers)) is None:
            return Unreachable(Cause.CREDENTIALS, "a header holds a line end", sent=False)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + timeout_s
        async with self._turns:
            if (exchange := self._kept(loop.time())) is None:
                opened = await self._open(timeout_s, ends_at - loop.time())
                if not isinstance(opened, Exchange):
                    return opened
                exchange = opened
            if (left_s := ends_at - loop.time()) <= 0:
                # The process stood still, or waited for its turn: what the caller checked before
                # it asked (that it leads) may no longer hold.
                self._keep(exchange)
                return TimedOut(timeout_s, sent=False)
            if not may_send():
                self._keep(exchange)
                return FENCED
            try:
                answer = await exchange.ask(request, body_bytes_max, left_s)
            except TimeoutError:
                return TimedOut(timeout_s)
            except ValueError as error:
                is_oversized = isinstance(error, OversizedAnswerError)
                cause = Cause.OVERSIZED if is_oversized else Cause.LOST
                return Unreachable(cause, str(error), sent=True)
            except OSError as error:
                return Unreachable(Cause.LOST, _text(error, "the connection was lost"), sent=True)
            finally:
                self._keep(exchange)
            return answer

    def close(self) -> None:
        """Close all connections at once; requests under way end as unreachable."""
        self._closed = True
        for exchange in [*self._all]:
            exchange.close()
        self._idle.clear()
        self._all.clear()

    def _request(
        self, verb: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> bytes | None:
        """Return the bytes of the request; None if a header contains a line end."""
        header_lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = (
            f"{verb} {self._prefix}{target} HTTP/1.1\r\n{self._fixed}{header_lines}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        lines = 3 + self._fixed_lines + len(headers)
        if head.count("\n") != lines or head.count("\r") != lines or not head.isascii():
            return None
        return head.encode("ascii") + body

    def _kept(self, now_s: float) -> Exchange | None:
        """Return the connection used last that can still be used."""
        while self._idle:
            exchange = self._idle.pop()
            fresh = now_s - exchange.idle_since_s < KEEPALIVE_S
            if exchange.open and fresh and exchange.generation == self._generation():
                return exchange
            self._all.discard(exchange)
            exchange.close()
        return None

    def _keep(self, exchange: Exchange) -> None:
        if exchange.open and not self._closed and exchange.generation == self._generation():
            self._idle.append(exchange)
        else:
            self._all.discard(exchange)
            exchange.close()

    async def _open(self, timeout_s: float, left_s: float) -> Exchange | Failure:
        """Open a connection. If this fails, the server cannot have seen the request."""
        exchange = Exchange(self._generation())
        try:
            async with asyncio.timeout(max(0.0, min(CONNECT_TIMEOUT_S, left_s))):
                await self._connect(exchange)
        except TimeoutError:
            return TimedOut(min(CONNECT_TIMEOUT_S, timeout_s), sent=False)
        except socket.gaierror as error:
            return Unreachable(Cause.NAME, _text(error, "no such name"), sent=False)
        except ssl.SSLError as error:
            return Unreachable(Cause.TLS, _text(error, "the TLS handshake failed"), sent=False)
        except OSError as error:
            return Unreachable(Cause.REFUSED, _text(error, "connection refused"), sent=False)
        self._all.add(exchange)
        return exchange

    async def _connect(self, exchange: Exchange) -> None:
        connect = asyncio.get_running_loop().create_connection
        if not self._is_secure:
            await connect(lambda: exchange, self._host, self._port)
            return
        context = self._connection.ssl_context or ssl.create_default_context()
        name = self._connection.server_name or self._host
        _, stream = await connect(
            lambda: TlsStream(exchange, context, name, self._read_buffer), self._host, self._port
        )
        await stream.ready()

    def _generation(self) -> int:
        return self._connection.tls.generation if self._connection.tls else 0


def _text(error: Exception, otherwise: str) -> str:
    return one_line(str(error)) or otherwise
