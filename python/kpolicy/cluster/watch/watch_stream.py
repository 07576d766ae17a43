"""One watch, from request to end: passes complete lines to the sink and ends a silent watch.

Whatever ends a watch is returned as a value; the caller decides what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from kpolicy.clock import NANOSECONDS, Clock, first_of
from kpolicy.cluster.api import ApiClient, Stream
from kpolicy.cluster.limits import (
    WATCH_LINE_BYTES_MAX,
    WATCH_SILENCE_S,
)
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.watch.resource import LinesRead, Resource, Sink, newer_of


class End(StrEnum):
    """Why a watch is over."""

    CLOSED = "closed"  # by the server: the time was up, or it restarts
    SILENT = "silent"
    FAILED = "failed"  # not opened, broken off, or a line without end
    STATUS = "status"  # by an ERROR event
    STOPPED = "stopped"  # by us


@dataclass(frozen=True, slots=True)
class Watched:
    end: End
    resource_version: str
    bytes_read: int
    failure: Failure | None = None
    status: Status | None = None


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


@dataclass(slots=True)
class _Progress:
    """The state of a watch under way, as its guard sees it."""

    last_byte_ns: int
    is_reading: bool = True  # False while the sink works: the server is not silent then
    ended_by_us: End | None = None


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
    """Watch until the server ends it, it fails or is silent, or `stop` is set.

    Calls `on_open` when the server has accepted the watch, and `on_read` after the sink has taken
    lines.
    """
    async with client.stream(resource.path, resource.query() | request.query()) as stream:
        if not isinstance(stream, Stream):
            return Watched(End.FAILED, request.resource_version, 0, stream)
        on_open()
        progress = _Progress(clock.monotonic_ns())

        async def read() -> Watched:
            version, size, splitter = request.resource_version, 0, LineSplitter()
            while True:
                chunk = await stream.read()
                if progress.ended_by_us is not None:
                    return Watched(progress.ended_by_us, version, size)
                if isinstance(chunk, Unreachable):
                    return Watched(End.FAILED, version, size, chunk)
                if not chunk:
                    return Watched(End.CLOSED, version, size)
                size += len(chunk)
                progress.is_reading = False
                if lines := splitter.feed(chunk):
                    accepted = await sink.lines(resource.name, lines)
                    version = newer_of(version, accepted.resource_version)
                    on_read(len(lines), accepted)
                    if accepted.status is not None:
                        return Watched(End.STATUS, version, size, status=accepted.status)
                elif splitter.overflowed:
                    text = f"an event is longer than {splitter.held_bytes} bytes"
                    failure = Unreachable(Cause.OVERSIZED, text, sent=True)
                    return Watched(End.FAILED, version, size, failure)
                progress.last_byte_ns, progress.is_reading = clock.monotonic_ns(), True

        async def close_early() -> NoReturn:
            """Close the stream, so that `read` ends; the sink's work is not interrupted."""
            progress.ended_by_us = await _stopped_or_silent(progress, clock, stop)
            stream.close()
            await asyncio.Future[NoReturn]()

        return await first_of(read(), close_early())


async def _stopped_or_silent(progress: _Progress, clock: Clock, stop: asyncio.Event) -> End:
    """Wait until the watch is stopped or the server was silent for too long. Does no work per
    chunk."""
    left_s = WATCH_SILENCE_S
    while left_s > 0:
        async with clock.move_on_after(left_s) as quiet:
            await stop.wait()
        if not quiet.expired:
            return End.STOPPED
        since_ns = clock.monotonic_ns() - progress.last_byte_ns if progress.is_reading else 0
        left_s = WATCH_SILENCE_S - since_ns / NANOSECONDS
    return End.SILENT


class LineSplitter:
    """Splits chunks into complete lines. A chunk that ends with a line is not copied."""

    def __init__(self, line_bytes_max: int = WATCH_LINE_BYTES_MAX) -> None:
        self._line_bytes_max = line_bytes_max
        self._parts: list[bytes] = []  # of the line that is not complete yet

    @property
    def held_bytes(self) -> int:
        """The size of the line that is not complete yet."""
        return sum(map(len, self._parts))

    @property
    def overflowed(self) -> bool:
        """Whether the incomplete line is longer than any line may be."""
        return self.held_bytes > self._line_bytes_max

    def feed(self, chunk: bytes) -> bytes:
        lines = b""
        if cut := chunk.rfind(b"\n") + 1:
            lines = b"".join([*self._parts, chunk[:cut]])
            self._parts.clear()
        if cut < len(chunk):
            self._parts.append(chunk[cut:])
        return lines
