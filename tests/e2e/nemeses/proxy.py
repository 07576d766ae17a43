"""A TLS proxy between kpolicy and the API server, which causes the faults of `script` and passes
everything else through.

It uses the API server's own certificate, which names 127.0.0.1, and HTTP/1.1.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.readiness import free_ports
from tests.e2e.nemeses.faults import (
    Answer,
    Call,
    CloseAfter,
    Cut,
    Delay,
    Drop,
    Fault,
    Hold,
    Late,
    LoseAnswer,
    Script,
    Twice,
    WatchCut,
)
from tests.e2e.nemeses.loop_thread import LoopThread
from tests.e2e.nemeses.sockets import reset

HOP_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})
BODY_BYTES_MAX = 16 * 1024 * 1024
CHUNK_BYTES = 64 * 1024


class Proxy:
    """A context manager. Point kpolicy at `kubeconfig(user)`; methods are for the test's thread."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self._folder = folder
        (self._port,) = free_ports(1)
        self._script = Script()
        self._calls: list[Call] = []
        self._lag_s = 0.0
        self._server = ""  # the address of another API server
        self._twice = False
        self._holds: dict[str, asyncio.Event] = {}  # by resource
        self._streams: set[web.StreamResponse] = set()
        self._transports: dict[web.StreamResponse, asyncio.Transport] = {}
        self._cut: WatchCut | None = None
        self._loop = LoopThread("proxy")
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> Self:
        self._loop.start()
        self._loop.run(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.run(self._stop())
        self._loop.stop()

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    def kubeconfig(self, user: str, *, token_file: Path | None = None) -> Path:
        """The control plane's kubeconfig, but through the proxy; with `token_file` the token is
        read from there."""
        return kubeconfig_at(
            self._plane,
            user,
            self.server,
            self._folder / f"{user}-proxied.yaml",
            token_file=token_file,
        )

    # Faults --------------------------------------------------------------------------------

    def script(self, when: Callable[[Call], bool], fault: Fault, *, times: int = 1) -> Fault:
        """The fault happens to the next `times` calls for which `when` is true; later ones pass."""
        self._script.add(when, fault, times)
        return fault

    def pending(self) -> int:
        """How many scripted faults have not happened yet."""
        return self._script.pending()

    def heal(self) -> None:
        """Ends all faults; held requests continue."""
        self._script.clear()
        self._loop.run(self._heal())

    def silence_watches(self) -> None:
        """Half-open: watches that are open now stay open and send nothing any more."""
        self._loop.run(self._silence())

    def lag_watches(self, seconds: float) -> None:
        """Delays all bytes of watches from now on."""
        self._lag_s = seconds

    def hold_watches(self, resource: str) -> None:
        """Holds the events of a resource, so that they arrive after later events of other
        resources."""
        self._loop.run(self._hold(resource))

    def release_watches(self) -> None:
        self._loop.run(self._release())

    def duplicate_events(self) -> None:
        """Watches that begin from now on send everything twice."""
        self._twice = True

    def redirect(self, server: str) -> None:
        """Sends requests to this API server from now on; connections and watches do not change."""
        self._server = server

    def cut_watches(self, how: Cut) -> None:
        """Breaks each open watch in the middle of its next line."""
        self._loop.run(self._cut_next(how))

    def reset_watches(self) -> None:
        """Breaks all open watches now."""
        self._loop.run(self._reset())

    # What was seen -------------------------------------------------------------------------

    def calls(self, when: Callable[[Call], bool] = lambda _: True) -> list[Call]:
        """The calls that were begun, in their order."""
        return [call for call in list(self._calls) if when(call)]

    def seen(self, when: Callable[[Call], bool], count: int = 1, *, timeout_s: float = 90) -> None:
        wait_for(lambda: len(self.calls(when)) >= count, f"{count} such calls", timeout_s=timeout_s)

    # ---------------------------------------------------------------------------------------

    async def _start(self) -> None:
        pki = self._plane.folder / "pki"
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        calling = ssl.create_default_context(cafile=str(self._plane.ca_file))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=calling, limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
            auto_decompress=False,
        )
        application = web.Application(client_max_size=BODY_BYTES_MAX)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=serving).start()

    async def _stop(self) -> None:
        self._script.clear()
        await self._heal()
        assert self._runner is not None
        assert self._session is not None
        await self._reset()
        await self._runner.cleanup()
        await self._session.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        call = Call(request.method, request.path, request.query_string, body)
        self._calls.append(call)
        fault = self._script.take(call)
        if isinstance(fault, Hold):
            fault.met.set()
            await asyncio.get_running_loop().run_in_executor(None, fault.released.wait)
            fault = fault.then
        match fault:
            case Answer(status=status, retry_after_s=retry_after_s):
                return _refusal(status, retry_after_s)
            case Drop():
                return self._break(request)
            case Late(seconds=seconds):
                await asyncio.sleep(seconds)
        try:
            return await self._forward(request, call, body, fault)
        except (aiohttp.ClientError, OSError):
            return self._break(request)  # the API server is away, so the proxy closes too

    async def _forward(
        self, request: web.Request, call: Call, body: bytes, fault: Fault | None
    ) -> web.StreamResponse:
        assert self._session is not None
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in HOP_HEADERS
        }
        url = f"{self._server or self._plane.server}{request.path_qs}"
        async with self._session.request(
            request.method, url, data=body or None, headers=headers
        ) as answer:
            call.status = answer.status
            if call.is_watch:
                return await self._stream(request, call, answer)
            payload = await answer.read()
        match fault:
            case LoseAnswer(then=then):
                if then is not None:
                    await asyncio.get_running_loop().run_in_executor(None, then, call)
                return self._break(request)
            case Delay(seconds=seconds):
                await asyncio.sleep(seconds)
        response = web.Response(status=answer.status, body=payload, headers=_kept(answer.headers))
        if isinstance(fault, CloseAfter):
            response.force_close()
        return response

    async def _stream(
        self, request: web.Request, call: Call, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_kept(answer.headers))
        response.enable_chunked_encoding()
        await response.prepare(request)
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        self._transports[response] = transport
        cut_before = self._cut
        lines = Twice() if self._twice else None
        try:
            async for chunk in self._in_time(answer):
                if response in self._streams:  # silenced: it stays open and sends nothing
                    continue
                if (hold := self._holds.get(call.resource)) is not None:
                    await hold.wait()
                cut = self._cut
                if cut is not None and cut is not cut_before:
                    _break_in_line(transport, chunk, cut.how)
                    break
                if data := chunk if lines is None else lines.feed(chunk):
                    await response.write(data)
        except (aiohttp.ClientError, OSError):
            transport.abort()
        finally:
            self._transports.pop(response, None)
            self._streams.discard(response)
        return response

    async def _in_time(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The API server's bytes, at the time when they should arrive."""
        clock = asyncio.get_running_loop().time
        come: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def take() -> None:
            try:
                async for chunk in answer.content.iter_any():
                    come.put_nowait((clock() + self._lag_s, chunk))
            finally:
                come.put_nowait((clock() + self._lag_s, b""))

        taking = asyncio.ensure_future(take())
        try:
            while True:
                due, chunk = await come.get()
                if due > clock():
                    await asyncio.sleep(due - clock())
                if not chunk:
                    break
                yield chunk
            await taking
        finally:
            taking.cancel()

    def _break(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if isinstance(transport, asyncio.Transport):
            reset(transport)
        return web.Response()

    async def _silence(self) -> None:
        self._streams.update(self._transports)

    async def _hold(self, resource: str) -> None:
        self._holds[resource] = asyncio.Event()

    async def _release(self) -> None:
        for hold in self._holds.values():
            hold.set()
        self._holds.clear()

    async def _heal(self) -> None:
        self._lag_s, self._twice, self._server = 0.0, False, ""
        await self._release()

    async def _cut_next(self, how: Cut) -> None:
        self._cut = WatchCut(how)

    async def _reset(self) -> None:
        for transport in list(self._transports.values()):
            reset(transport)


def kubeconfig_at(
    plane: ControlPlane,
    user: str,
    server: str,
    path: Path,
    *,
    token_file: Path | None = None,
    ca_file: Path | None = None,
) -> Path:
    """A user's kubeconfig for another address of the same API server; token and authority are in
    it, or are read in those files."""
    document = json.loads(plane.kubeconfig(user).read_text())
    cluster = document["clusters"][0]["cluster"]
    cluster["server"] = server
    if ca_file is not None:
        del cluster["certificate-authority-data"]
        cluster["certificate-authority"] = str(ca_file)
    if token_file is not None:
        document["users"][0]["user"] = {"tokenFile": str(token_file)}
    path.write_text(json.dumps(document))
    return path


def _break_in_line(transport: asyncio.Transport, chunk: bytes, how: Cut) -> None:
    """Sends half of the bytes that the chunk's head announces, and then ends."""
    half = chunk[: max(1, len(chunk) // 2)]
    transport.write(b"%x\r\n" % len(chunk) + half)
    if how is Cut.RESET:
        reset(transport)
    else:
        transport.close()


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HOP_HEADERS}


def _refusal(status: int, retry_after_s: int | None) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": status,
        "reason": "ByTheProxy",
        "message": f"the proxy was told to answer {status}",
    }
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return web.json_response(body, status=status, headers=headers)
