"""One watch, from the request to its end: passes whole lines to the sink and ends a silent watch.

Whatever ends a watch is returned as a value; the caller decides what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.cluster.api import ApiClient, Stream
from kpolicy.cluster.limits import (
    WATCH_LINE_BYTES_MAX,
    WATCH_SILENCE_S,
)
from kpolicy.cluster.request_failure import Cause, Failure, Unreachable
from kpolicy.cluster.watch.resource import LinesRead, Resource, Sink, WatchStatus, newer_of


class End(StrEnum):
    """Why a watch is over."""

    CLOSED = "closed"  # the server ended it: its time was up, or it is restarting
    SILENT = "silent"
    FAILED = "failed"  # not opened, broken off, or a line without end
    STATUS = "status"  # the server said so in the stream
    STOPPED = "stopped"  # by us


@dataclass(frozen=True, slots=True)
class Watched:
    end: End
    resource_version: str
    bytes_read: int
    failure: Failure | None = None
    status: WatchStatus | None = None


@dataclass(frozen=True, slots=True)
class WatchRequest:
    resource_version: str
    timeout_s: int

    def query(self) -> dict[str, str]:
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self.timeout_s),
        }
        if self.resource_version:
            query["resourceVersion"] = self.resource_version
        return query


class Progress:
    """What goes on in a watch under way, for whoever watches the watch."""

    def __init__(self, monotonic_ns: int) -> None:
        self.last_byte_ns = monotonic_ns
        self.reading = True  # false while the sink works: that is not the server's silence
        self.silent = False
        self.stopped = False

    def touch(self, monotonic_ns: int, *, reading: bool) -> None:
        self.last_byte_ns = monotonic_ns
        self.reading = reading


async def read_watch(
    client: ApiClient,
    resource: Resource,
    sink: Sink,
    *,
    clock: Clock,
    request: WatchRequest,
    stop: asyncio.Event,
    on_open: Callable[[], None],
    on_read: Callable[[int, LinesRead], None],
) -> Watched:
    """Watch until it ends, or `stop` is set. `on_open` hears that the server has agreed, `on_read`
    of each hand-over, after the sink has taken it."""
    version, size = request.resource_version, 0

    def over(
        end: End, failure: Failure | None = None, status: WatchStatus | None = None
    ) -> Watched:
        return Watched(end, version, size, failure, status)

    async with client.stream(resource.path, resource.query() | request.query()) as stream:
        if not isinstance(stream, Stream):
            return over(End.FAILED, stream)
        on_open()
        splitter = LineSplitter()
        async with _guarded(stream, clock, stop) as progress:
            while True:
                chunk = await stream.read()
                if progress.silent:
                    return over(End.SILENT)
                if progress.stopped:
                    return over(End.STOPPED)
                if isinstance(chunk, Unreachable):
                    return over(End.FAILED, chunk)
                if not chunk:
                    return over(End.CLOSED)
                size += len(chunk)
                progress.touch(clock.monotonic_ns(), reading=False)
                if lines := splitter.feed(chunk):
                    read = await sink.lines(resource.name, lines)
                    version = newer_of(version, read.resource_version)
                    on_read(len(lines), read)
                    if read.status is not None:
                        return over(End.STATUS, status=read.status)
                elif splitter.overflowed:
                    text = f"an event is longer than {splitter.held_bytes} bytes"
                    return over(End.FAILED, Unreachable(Cause.OVERSIZED, text, sent=True))
                progress.touch(clock.monotonic_ns(), reading=True)


@asynccontextmanager
async def _guarded(stream: Stream, clock: Clock, stop: asyncio.Event) -> AsyncIterator[Progress]:
    """Break the stream off when it is silent for too long, or not wanted any more. Two tasks a
    stream, nothing a chunk."""
    progress = Progress(clock.monotonic_ns())

    async def guard() -> None:
        left_s = WATCH_SILENCE_S
        while left_s > 0:
            await clock.sleep(left_s)
            since_ns = clock.monotonic_ns() - progress.last_byte_ns if progress.reading else 0
            left_s = WATCH_SILENCE_S - since_ns / NANOSECONDS
        progress.silent = True
        stream.close()

    async def stopper() -> None:
        await stop.wait()
        progress.stopped = True
        stream.close()

    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(guard()), loop.create_task(stopper())]
    try:
        yield progress
    finally:
        for task in tasks:
            task.cancel()


class LineSplitter:
    """Feed chunks, get whole lines (one or many, each with its line end) or nothing yet."""

    def __init__(self, line_bytes_max: int = WATCH_LINE_BYTES_MAX) -> None:
        self._line_bytes_max = line_bytes_max
        self._parts: list[bytes] = []
        self._held = 0

    @property
    def held_bytes(self) -> int:
        """The beginning of a line whose end has not come."""
        return self._held

    @property
    def overflowed(self) -> bool:
        """Whether the line that is coming is longer than any line may be."""
        return self._held > self._line_bytes_max

    def feed(self, chunk: bytes) -> bytes:
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._hold(chunk)
            return b""
        if not self._held:
            if cut == len(chunk):
                return chunk
            self._hold(chunk[cut:])
            return chunk[:cut]
        self._parts.append(chunk if cut == len(chunk) else chunk[:cut])
        lines = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        if cut < len(chunk):
            self._hold(chunk[cut:])
        return lines

    def _hold(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._held += len(part)
