"""A plain HTTP proxy that sometimes answers by itself, with success and a body that is not an API
object. A test chooses the calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

_NAME = re.compile(r"/(pods|nodes|leases)/[^/]+")
_EVERY = 3


class Garbled:
    def __init__(self, server: str, page: bytes) -> None:
        self._server = server
        self._page = page
        self._asked: Counter[str] = Counter()
        self.on = False
        self.url = ""
        self.kept: Counter[str] = Counter()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = _NAME.sub(r"/\1/*", request.path)
        kind = f"{request.method} {path}"
        is_watch = "watch" in request.query
        if self.on and not is_watch:
            self._asked[kind] += 1
            if self._asked[kind] % _EVERY == 1:
                self.kept[kind] += 1
                return web.Response(body=self._page, content_type="text/html")
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method,
                f"{self._server}{request.path_qs}",
                data=await request.read(),
                headers=headers,
            ) as answer,
        ):
            if not is_watch:
                body = await answer.read()
                return web.Response(status=answer.status, body=body)
            response = web.StreamResponse(status=answer.status)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response


@asynccontextmanager
async def garbled(server: str, page: bytes) -> AsyncIterator[Garbled]:
    garbled = Garbled(server, page)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", garbled.handle)
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    garbled.url = f"http://127.0.0.1:{port}"
    try:
        yield garbled
    finally:
        await runner.cleanup()
