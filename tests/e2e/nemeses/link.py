"""A TCP link that can be paused: bytes stay where they are, connections stay open.

Owns its port and its thread. What lies behind it seems to stand still, for as long as one likes.
Must not know what is said over it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.cluster.readiness import free_ports

CHUNK_BYTES = 64 * 1024
T = TypeVar("T")


class Link:
    """A context manager. Connect to `port`; it leads to `target` on this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        (self.port,) = free_ports(1)
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="link", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def pause(self) -> None:
        self._run(self._set(is_open=False))

    def resume(self) -> None:
        self._run(self._set(is_open=True))

    # ---------------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._open.set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self._open.set()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    async def _set(self, *, is_open: bool) -> None:
        if is_open:
            self._open.set()
        else:
            self._open.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        both = {writer, back}
        self._writers |= both
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        self._writers -= both

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(CHUNK_BYTES):
                await self._open.wait()
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)
