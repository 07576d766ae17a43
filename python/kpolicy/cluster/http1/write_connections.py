"""A pool of kept-alive connections for writes.

Most requests of a scheduler are small writes. They do not go through aiohttp's client, which costs
1.6 times as much processor time for each bind (docs/dependencies.md). Proxies are not supported
here.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from urllib.parse import urlsplit

from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.connection_problem import one_line
from kpolicy.cluster.http1.answer_reader import AnswerReader, OversizedAnswerError
from kpolicy.cluster.http1.exchange import Exchange, TlsStream
from kpolicy.cluster.limits import CONNECT_TIMEOUT_S, KEEPALIVE_S, WRITE_READ_BYTES
from kpolicy.cluster.request_failure import Cause, Failure, TimedOut, Unreachable


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
            try:
                answer = await exchange.ask(request, body_bytes_max, ends_at - loop.time())
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
