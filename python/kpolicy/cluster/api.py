"""The client of one API server: requests and streams over pooled connections.

Everything that can go wrong is returned as a `Failure`. Bodies have a size limit and requests a
time limit. Runs on one event loop. Bodies are bytes; only a Status is read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from types import TracebackType
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.fenced_request import FENCED, FencedRequest, NotSentError, always
from kpolicy.cluster.http1.answer_reader import AnswerReader
from kpolicy.cluster.http1.write_connections import WriteConnections
from kpolicy.cluster.limits import (
    BODY_BYTES_MAX,
    CONNECT_TIMEOUT_S,
    CONNECTIONS_MAX,
    EXEC_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    WATCH_BATCH_BYTES_MAX,
)
from kpolicy.cluster.outages import Outages
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    Unreachable,
    status_of,
)
from kpolicy.cluster.sessions import Sessions, error_text, transport_failure

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

_SUCCESS = range(200, 300)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream:
    """The body of a response that is still arriving."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    def has_news(self, bytes_read: int) -> bool:
        """Whether there is more than this many bytes, or the end."""
        content = self._response.content
        has_ended = content.is_eof() or content.exception() is not None
        return has_ended or content.total_bytes > bytes_read

    async def read(self) -> bytes | Unreachable:
        """Return the bytes that have arrived, at least one; empty at the end."""
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            return Unreachable(Cause.LOST, error_text(error, "the connection was lost"), sent=True)

    def close(self) -> None:
        """Close the connection; a `read` that is waiting ends."""
        self._response.close()


class ApiClient:
    """Requests to one API server. Close it, or use it as an async context manager.

    `timed` is called with the verb and the seconds until the response, or until it was certain that
    there will be none.
    """

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        user_agent: str = "kpolicy",
        connections_max: int = CONNECTIONS_MAX,
        timed: Callable[[str, float], None] = lambda verb, seconds: None,
    ) -> None:
        self.connection = connection
        self._sessions = Sessions(
            connection, clock, user_agent=user_agent, connections_max=connections_max
        )
        self._writes = WriteConnections(
            connection, headers=self._sessions.headers, connections_max=connections_max
        )
        self._counts: Counter[tuple[str, int]] = Counter()
        self._timed = timed
        self._clock = clock
        self.outages = Outages(connection, clock)
        self._entered = AsyncExitStack()

    async def __aenter__(self) -> ApiClient:
        await self._entered.enter_async_context(self.connection.authorization.renewing())
        self._entered.push_async_callback(self.close)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._entered.__aexit__(kind, error, traceback)

    @property
    def counts(self) -> Mapping[tuple[str, int], int]:
        """Responses by verb and status code; code 0 counts requests without a response."""
        return self._counts

    async def request(
        self,
        verb: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        timeout_s: float = REQUEST_TIMEOUT_S,
        body_bytes_max: int = BODY_BYTES_MAX,
        traceparent: str | None = None,
        pulse: Pulse = NO_PULSE,
        may_send: Callable[[], bool] = always,
    ) -> Response | Failure:
        """Send one request and read the whole response. After a 401, try once more with new
        credentials. `pulse` beats before each step, of which none takes longer than the time limit
        of the request. `may_send` is asked when a connection is there and nothing was sent."""
        headers = {} if body is None else {"Content-Type": content_type}
        if traceparent is not None:
            headers["traceparent"] = traceparent
        target = f"{path}?{urlencode(query)}" if query else path
        attempt = partial(
            self._attempt,
            verb,
            target,
            body,
            headers,
            timeout_s=timeout_s,
            body_bytes_max=body_bytes_max,
            pulse=pulse,
            may_send=may_send,
        )
        answer = await attempt()
        if isinstance(answer, Status) and answer.code == 401:
            used = headers.get("Authorization")
            self.connection.authorization.refused()
            if await self.connection.authorization.header() not in {used, ""}:
                answer = await attempt()
        return answer

    async def _attempt(
        self,
        verb: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
        *,
        timeout_s: float,
        body_bytes_max: int,
        pulse: Pulse,
        may_send: Callable[[], bool],
    ) -> Response | Failure:
        pulse.beat(EXEC_TIMEOUT_S)
        if isinstance(session := await self._sessions.ready(headers), Unreachable):
            return session
        pulse.beat()
        if body is not None and self.connection.proxy is None:
            return await self._write(
                verb,
                target,
                body,
                headers,
                timeout_s=timeout_s,
                body_bytes_max=body_bytes_max,
                may_send=may_send,
            )
        FencedRequest.may_send.set(may_send)
        began_ns = self._clock.monotonic_ns()
        try:
            async with session.request(
                verb,
                self._url(target),
                data=body,
                headers=headers,
                timeout=_timeout(timeout_s),
                proxy=self.connection.proxy,
                server_hostname=self.connection.server_name,
                allow_redirects=False,
            ) as response:
                content = await _read(response, body_bytes_max)
                self._count(verb, response.status, began_ns)
                if response.status not in _SUCCESS:
                    retry_after = response.headers.get("Retry-After")
                    return status_of(response.status, content or b"", retry_after)
                if content is None:
                    text = f"the answer is larger than {body_bytes_max} bytes"
                    return Unreachable(Cause.OVERSIZED, text, sent=True)
                return Response(response.status, response.headers, content)
        except NotSentError:
            return FENCED
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            self._count(verb, 0, began_ns)
            return self._failed(transport_failure(error, timeout_s))

    async def _write(
        self,
        verb: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        body_bytes_max: int,
        may_send: Callable[[], bool],
    ) -> Response | Failure:
        began_ns = self._clock.monotonic_ns()
        answer = await self._writes.ask(
            verb,
            target,
            body,
            headers,
            timeout_s=timeout_s,
            body_bytes_max=body_bytes_max,
            may_send=may_send,
        )
        if not isinstance(answer, AnswerReader):
            self._count(verb, 0, began_ns)
            return self._failed(answer)
        self._count(verb, answer.status, began_ns)
        if answer.status not in _SUCCESS:
            return status_of(answer.status, answer.body, answer.headers.get("retry-after"))
        return Response(answer.status, answer.headers, answer.body)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], *, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> AsyncIterator[Stream | Failure]:
        """Open a watch. `timeout_s` limits the wait for the head; the caller limits the body."""
        headers: dict[str, str] = {}
        url = self._url(f"{path}?{urlencode(query)}")
        if isinstance(session := await self._sessions.ready(headers), Unreachable):
            yield session
            return
        response: aiohttp.ClientResponse | None = None
        began_ns = self._clock.monotonic_ns()
        try:
            answer: Stream | Failure
            try:
                async with asyncio.timeout(timeout_s):
                    response = await session.get(
                        url,
                        headers=headers,
                        timeout=_timeout(None),
                        proxy=self.connection.proxy,
                        server_hostname=self.connection.server_name,
                        allow_redirects=False,
                        read_bufsize=WATCH_BATCH_BYTES_MAX // 2,
                    )
                    self._count("WATCH", response.status, began_ns)
                    answer = Stream(response)
                    if response.status not in _SUCCESS:
                        content = await _read(response, BODY_BYTES_MAX)
                        retry_after = response.headers.get("Retry-After")
                        answer = status_of(response.status, content or b"", retry_after)
                        if answer.code == 401:
                            self.connection.authorization.refused()
            except (aiohttp.ClientError, OSError, ValueError) as error:
                self._count("WATCH", 0, began_ns)
                answer = self._failed(transport_failure(error, timeout_s))
            yield answer
        finally:
            if response is not None:
                response.close()

    async def close(self) -> None:
        self._writes.close()
        await self._sessions.close()

    def _failed(self, failure: Failure) -> Failure:
        """Return the failure. After a failed TLS handshake the certificates are read again."""
        if isinstance(failure, Unreachable) and failure.cause is Cause.TLS:
            self._sessions.distrusted()
        return failure

    def _url(self, target: str) -> URL:
        return URL(f"{self.connection.server}{target}", encoded=True)

    def _count(self, verb: str, status: int, began_ns: int) -> None:
        self._counts[verb, status] += 1
        self._timed(verb, (self._clock.monotonic_ns() - began_ns) / NANOSECONDS)


@lru_cache(maxsize=32)
def _timeout(total_s: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, sock_connect=CONNECT_TIMEOUT_S)


async def _read(response: aiohttp.ClientResponse, bytes_max: int) -> bytes | None:
    """Return the whole body; None, and close the connection, if it is larger than allowed."""
    parts, size = [], 0
    while chunk := await response.content.readany():
        size += len(chunk)
        if size > bytes_max:
            response.close()
            return None
        parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)
