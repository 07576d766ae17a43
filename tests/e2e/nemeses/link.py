"""A TCP link that can be paused: bytes are held back and connections stay open, so that the server
behind it seems to stand still.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from tests.cluster.readiness import free_ports
from tests.e2e.nemeses.loop_thread import LoopThread

CHUNK_BYTES = 64 * 1024


class Link:
    """A context manager. Connections to `port` lead to `target` on this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        (self.port,) = free_ports(1)
        self._loop = LoopThread("link")
        self._open = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

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

    def pause(self) -> None:
        self._loop.run(self._set(is_open=False))

    def resume(self) -> None:
        self._loop.run(self._set(is_open=True))

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
