"""One watch, into the sink.

Owns the shape of the request, hand-over of whole lines and the guard against silence. Assumes that
the caller decides what follows: whatever ends a watch is returned as a value. Must not know
back-off or what was tried before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.cluster.api import ApiClient, Stream
from kpolicy.cluster.failure import Cause, Failure, Unreachable
from kpolicy.cluster.limits import (
    WATCH_SILENCE_S,
)
from kpolicy.cluster.lines import LineSplitter
from kpolicy.cluster.resource import Resource
from kpolicy.cluster.resource_version import newer_of
from kpolicy.cluster.sink import LinesRead, Sink, WatchStatus


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
