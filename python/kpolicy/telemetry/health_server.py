"""The HTTP server for probes and scrapes: /healthz /livez /readyz /metrics /metrics/slis /configz,
pages such as /debug, and streams such as /metrics/resources.

Health is open to everyone; the guard decides about the rest. Nothing can be changed through it. On
a loopback address a request must name one as its host, or any web page could read the answers.
"""

from __future__ import annotations

import errno
import json
import logging
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http import HttpProcessingError

from kpolicy.clock import NO_PULSE, Clock, Pulse, SystemClock
from kpolicy.telemetry import limits
from kpolicy.telemetry.acceptor import Acceptor, listening_sockets
from kpolicy.telemetry.access import Guard, Open, Refusal, is_loopback
from kpolicy.telemetry.health_checks import Check, Checks, HealthRecord, judge
from kpolicy.telemetry.metrics import CONTENT_TYPE, Registry
from kpolicy.telemetry.open_connections import OpenConnections

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """The answer of a page of /debug; no Retry-After header if `retry_after_s` is 0."""

    text: str
    status: int = 200
    content_type: str = "text/plain"
    retry_after_s: int = 0


Serve: TypeAlias = Callable[[Mapping[str, str]], Awaitable[Page]]
# Text in Prometheus' format, in pieces: each is made when the one before it was sent.
Stream: TypeAlias = Callable[[], AsyncGenerator[bytes]]


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Listener:
    """Where the server listens, and who may ask."""

    address: str
    port: int
    tls: ssl.SSLContext | None = None
    guard: Guard = field(default_factory=Open)

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Served:
    """What the server shows: /metrics, the health checks, /configz, and others by their paths."""

    registry: Registry
    checks: Checks
    configuration: Callable[[], Mapping[str, Any]]
    before_scrape: Callable[[], Awaitable[None]] = _nothing
    pages: Mapping[str, Serve] = field(default_factory=dict)
    streams: Mapping[str, Stream] = field(default_factory=dict)


class HttpServer:
    """`start` returns why it cannot listen, or an empty string. After it, `run` serves."""

    def __init__(self, listener: Listener, served: Served, clock: Clock | None = None) -> None:
        self._listener = listener
        self._served = served
        self._clock = clock or SystemClock()
        self._sockets: list[socket.socket] = []
        self._connections = OpenConnections()
        self._record = HealthRecord()
        application = web.Application(middlewares=[self._within_limits])
        for name in ("healthz", "livez", "readyz"):
            group: Iterable[Check] = getattr(served.checks, name)
            application.router.add_get(f"/{name}", _health(name, group, self._record))
            application.router.add_get(f"/{name}/{{check}}", _one_check(name, group))
        application.router.add_get("/metrics", self._guarded(self._metrics))
        application.router.add_get("/metrics/slis", self._guarded(self._slis))
        application.router.add_get("/configz", self._guarded(self._configz))
        for path, serve in served.pages.items():
            application.router.add_get(path, self._guarded(_page(serve)))
        for path, stream in served.streams.items():
            application.router.add_get(path, self._guarded(_streamed(stream)))
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
            logger=_request_log,
            max_line_size=limits.HTTP_FIELD_BYTES_MAX,
            max_field_size=limits.HTTP_FIELD_BYTES_MAX,
            lingering_time=0,  # no body is read
            shutdown_timeout=limits.HTTP_STOP_S,
        )

    @property
    def url(self) -> str:
        return self._listener.url

    async def start(self) -> str:
        listener = self._listener
        try:
            self._sockets = await listening_sockets(listener.address, listener.port)
        except OSError as error:
            return _why(error, listener.address, listener.port)
        await self._runner.setup()
        _log.info("serving health and metrics at %s", self.url)
        return ""

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Serve until cancelled."""
        assert self._runner.server is not None, "it has started"
        acceptor = Acceptor(self._runner.server, self._connections, self._clock, self._listener.tls)
        await acceptor.run(self._sockets, pulse)

    async def stop(self) -> None:
        """Close everything. `run` must have ended."""
        for listening in self._sockets:
            listening.close()
        await self._runner.cleanup()

    @web.middleware
    async def _within_limits(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Answer, and write the answer, in the time that there is for it."""
        connection = self._connections.of(request.protocol)
        if connection is not None:
            connection.begin_answer(self._clock.monotonic_ns())
        response = self._unfit(request)
        if response is None:
            try:
                response = await handler(request)
            except web.HTTPException as error:
                response = web.Response(status=error.status, text=f"{error.reason}\n")
        with suppress(ConnectionError):  # the client has gone
            await response.prepare(request)
            await response.write_eof()
        if connection is not None:
            connection.end_answer(self._clock.monotonic_ns())
        return response

    def _unfit(self, request: web.Request) -> web.StreamResponse | None:
        if is_loopback(self._listener.address) and not names_loopback(request.headers.get("Host")):
            return web.Response(status=421, text=_OTHER_HOST)
        if request.body_exists:
            return web.Response(status=413, text="no request here has a body\n")
        return None

    def _guarded(self, answer: _Handler) -> _Handler:
        async def guarded(request: web.Request) -> web.StreamResponse:
            header = request.headers.get("Authorization", "")
            refusal = await self._listener.guard.refuse(
                header, request.method.lower(), request.path
            )
            return await answer(request) if refusal is None else _refused(refusal)

        return guarded

    async def _metrics(self, _: web.Request) -> web.Response:
        await self._served.before_scrape()
        return _rendered(self._served.registry)

    async def _slis(self, _: web.Request) -> web.Response:
        return _rendered(self._record.registry)

    async def _configz(self, _: web.Request) -> web.Response:
        text = json.dumps(self._served.configuration(), indent=1, sort_keys=True)
        return web.Response(text=text + "\n", content_type="application/json")


def names_loopback(host: str | None) -> bool:
    """Whether a Host header names this machine itself. A page of the web whose name is resolved to
    127.0.0.1 (DNS rebinding) sends its own name."""
    try:
        name = urlsplit(f"//{host or ''}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


_OTHER_HOST: Final = """\
The Host header names another machine, but this address is reached from this machine only: ask for
localhost or 127.0.0.1.
"""


def _as_line(record: logging.LogRecord) -> bool:
    """A request that is no HTTP is one line, without the traceback of its parser."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        reason = error.message.partition("\n")[0][: limits.HTTP_REASON_CHARACTERS_MAX]
        record.msg, record.args = f"{record.getMessage()}: {reason}", ()
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


_request_log = logging.getLogger(f"{__name__}.requests")
_request_log.addFilter(_as_line)

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _refused(refusal: Refusal) -> web.Response:
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
    return web.Response(status=refusal.status, text=refusal.text, headers=headers)


def _page(serve: Serve) -> _Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        page = await serve(request.query)
        headers = {"Retry-After": str(page.retry_after_s)} if page.retry_after_s else {}
        return web.Response(
            status=page.status, text=page.text, content_type=page.content_type, headers=headers
        )

    return answer


def _rendered(registry: Registry) -> web.Response:
    return web.Response(body=registry.render().encode(), headers={"Content-Type": CONTENT_TYPE})


def _streamed(stream: Stream) -> _Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
        with suppress(ConnectionError):  # the client has gone
            await response.prepare(request)
            async with aclosing(stream()) as pieces:
                async for piece in pieces:
                    await response.write(piece)
        return response

    return answer


def _health(name: str, checks: Iterable[Check], record: HealthRecord) -> _Handler:
    """Serve all checks of a group. As in kube-scheduler, only these answers are recorded."""

    async def answer(request: web.Request) -> web.Response:
        exclude = request.query.getall("exclude", [])
        verbose = "verbose" in request.query
        health = judge(name, checks, verbose=verbose, exclude=exclude, record=record)
        return web.Response(status=health.status, text=health.text)

    return answer


def _one_check(name: str, checks: Iterable[Check]) -> _Handler:
    """Serve the check that the path names."""

    async def answer(request: web.Request) -> web.Response:
        asked = [check for check in checks if check.name == request.match_info["check"]]
        if not asked:
            return web.Response(status=404, text=f"{name} has no such check\n")
        health = judge(name, asked, verbose="verbose" in request.query)
        return web.Response(status=health.status, text=health.text)

    return answer


_WHY: Final = {
    errno.EADDRINUSE: "port {port} of {address} is in use by another process",
    errno.EACCES: "port {port} of {address} needs more rights than this process has",
    errno.EADDRNOTAVAIL: "{address} is not an address of this machine",
}


def _why(error: OSError, address: str, port: int) -> str:
    text = _WHY.get(error.errno or 0, "cannot listen on {address} port {port}: {cause}")
    return text.format(address=address, port=port, cause=error.strerror or error)
