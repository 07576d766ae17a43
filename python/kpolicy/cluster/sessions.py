"""The aiohttp session in use: credentials and certificates for every request.

Replaces the session when certificates change; requests under way may end on the old one. Proxies in
the environment are not used: looking them up would cost a thread switch for each request.
"""

from __future__ import annotations

import logging
import os
from collections import deque

import aiohttp

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.connection_problem import ConnectionProblem, one_line
from kpolicy.cluster.fenced_request import FencedRequest
from kpolicy.cluster.limits import (
    CONNECT_TIMEOUT_S,
    KEEPALIVE_S,
    RETIRED_SESSION_GRACE_S,
    RETIRED_SESSIONS_MAX,
    TOKEN_FILE_REREAD_S,
)
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    TimedOut,
    Unreachable,
)

_log = logging.getLogger(__name__)


class Sessions:
    def __init__(
        self, connection: Connection, clock: Clock, *, user_agent: str, connections_max: int
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._user_agent = user_agent
        self._connections_max = connections_max
        self._session: aiohttp.ClientSession | None = None
        self._generation = 0
        self._tls_check_ns = 0
        self._closed = False
        # with the time at which each is closed, the oldest first
        self._retired: deque[tuple[int, aiohttp.ClientSession]] = deque()

    async def ready(self, headers: dict[str, str]) -> aiohttp.ClientSession | Unreachable:
        """Return the session to use now, and set the Authorization header in `headers`."""
        header = await self._connection.authorization.header()
        if isinstance(header, ConnectionProblem):
            return Unreachable(Cause.CREDENTIALS, str(header), sent=False)
        if header:
            headers["Authorization"] = header
        await self._check_tls()
        if self._closed:
            return Unreachable(Cause.CLOSED, "the client is closed", sent=False)
        if self._session is None:
            self._session = self._new_session()
        return self._session

    def distrusted(self) -> None:
        """Call after a failed handshake: the next request reads the certificates again."""
        self._tls_check_ns = 0

    async def close(self) -> None:
        """Close all connections at once; requests under way end as unreachable."""
        self._closed = True
        self._retire(self._clock.monotonic_ns())
        while self._retired:
            await self._retired.popleft()[1].close()

    async def _check_tls(self) -> None:
        """Read the certificates again each minute and after a failed handshake; retire the session
        if they changed. Retired sessions are closed when requests on them had time to end."""
        if (tls := self._connection.tls) is None:
            return
        now_ns = self._clock.monotonic_ns()
        if now_ns >= self._tls_check_ns:
            self._tls_check_ns = now_ns + round(TOKEN_FILE_REREAD_S * NANOSECONDS)
            wrong = await tls.refresh_off_loop(self._connection.authorization.certificate)
            if wrong is not None:
                _log.warning("%s; the certificates read before stay in use", wrong)
        if tls.generation != self._generation:
            self._generation = tls.generation
            self._retire(now_ns)
        while self._retired and (
            now_ns >= self._retired[0][0] or len(self._retired) > RETIRED_SESSIONS_MAX
        ):
            await self._retired.popleft()[1].close()

    def _retire(self, now_ns: int) -> None:
        session, self._session = self._session, None
        if session is not None:
            ends_ns = now_ns + round(RETIRED_SESSION_GRACE_S * NANOSECONDS)
            self._retired.append((ends_ns, session))

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers of every request."""
        return (
            ("User-Agent", self._user_agent),
            ("Accept", "application/json"),
            # Compressing lists costs both sides more than it saves in a cluster's network.
            ("Accept-Encoding", "identity"),
            *self._connection.headers,
        )

    def _new_session(self) -> aiohttp.ClientSession:
        context = self._connection.ssl_context
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._connections_max,
                keepalive_timeout=KEEPALIVE_S,
                ssl=True if context is None else context,
            ),
            headers=self.headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=FencedRequest,
            auto_decompress=False,
            trust_env=False,
        )


def transport_failure(error: Exception, timeout_s: float) -> Failure:
    """Turn an exception of aiohttp into a value. If in doubt, the request counts as sent."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return TimedOut(min(timeout_s, CONNECT_TIMEOUT_S), sent=False)
        case TimeoutError():
            return TimedOut(timeout_s)
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(Cause.NAME, error_text(error, "no such name"), sent=False)
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            return Unreachable(Cause.TLS, error_text(error, "the TLS handshake failed"), sent=False)
        case aiohttp.ClientConnectorError(host=host, port=port, os_error=cause):
            why = os.strerror(cause.errno).lower() if cause.errno else "connection refused"
            return Unreachable(Cause.REFUSED, one_line(f"{host}:{port}: {why}"), sent=False)
        case aiohttp.InvalidURL():
            return Unreachable(Cause.NAME, f"not a URL: {error}", sent=False)
        case _:
            return Unreachable(Cause.LOST, error_text(error, "the connection was lost"), sent=True)


def error_text(error: Exception, otherwise: str) -> str:
    """Describe the error; in aiohttp's own words where they say more."""
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection broke in the middle of an answer"
    return one_line(str(error)) or otherwise
