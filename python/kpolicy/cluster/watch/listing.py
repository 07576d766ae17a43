"""Requests for one resource: lists, page by page, and single watches, both into a sink.

Whatever ends a list or a watch is returned as a value; the caller decides what follows. A list
retries single pages; a watch that is silent for too long is ended. The roster of all nodes and pods
is for those who compare it with our own state: it reads JSON without the engine's decoder, so that
a mistake of the decoder does not hide itself, and in a thread, so that the loop is not blocked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Clock, Pulse, first_of
from kpolicy.cluster.api import ApiClient, Stream
from kpolicy.cluster.limits import (
    CONNECT_TIMEOUT_S,
    EXEC_TIMEOUT_S,
    LIST_PAGE_OBJECTS,
    LIST_PAGE_TRIES_MAX,
    LIST_PAGES_MAX,
    PAGE_BYTES_MAX,
    WATCH_LINE_BYTES_MAX,
    WATCH_SILENCE_S,
)
from kpolicy.cluster.request_failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.watch.resource import LinesRead, PageRead, Resource, Sink, is_older, newer_of


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
    pulse: Pulse = NO_PULSE,
) -> Watched:
    """Watch until the server ends it, it fails or is silent, or `stop` is set.

    Calls `on_open` when the server has accepted the watch, and `on_read` after the sink has taken
    lines. `pulse` rests while no bytes have arrived.
    """
    pulse.beat(EXEC_TIMEOUT_S + CONNECT_TIMEOUT_S)
    async with client.stream(resource.path, resource.query() | request.query()) as stream:
        if not isinstance(stream, Stream):
            return Watched(End.FAILED, request.resource_version, 0, stream)
        on_open()
        progress = _Progress(clock.monotonic_ns())

        async def read() -> Watched:
            version, size, splitter = request.resource_version, 0, LineSplitter()

            def has_news() -> bool:
                return stream.has_news(size)

            while True:
                pulse.rest(has_news)
                chunk = await stream.read()
                pulse.beat()
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


@dataclass(frozen=True, slots=True)
class Listed:
    resource_version: str
    bytes_read: int


@dataclass(frozen=True, slots=True)
class Stale:
    """The server listed a state older than one that was already seen."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The list ended early; `paging` says whether pages had been read before."""

    failure: Failure
    paging: bool


async def read_list(
    client: ApiClient,
    resource: Resource,
    sink: Sink,
    *,
    seen: str,
    not_older_than: str,
    page_objects: int,
    refuse_stale: bool,
    pause: Callable[[Failure], Awaitable[None]],
    exactly: str = "",
    on_page: Callable[[], None] = lambda: None,
) -> Listed | Stale | Broken:
    """List everything, page by page.

    A page that fails for a moment is requested again after `pause`; pages read before remain valid.
    With `exactly`, the list is made at that version. `on_page` is called for each page the sink has
    taken.
    """
    query = resource.query() | {"limit": str(page_objects)}
    if not_older_than:
        query |= {"resourceVersion": not_older_than, "resourceVersionMatch": "NotOlderThan"}
    if exactly:
        query |= {"resourceVersion": exactly, "resourceVersionMatch": "Exact"}
    await sink.list_begin(resource.name)
    size = 0
    for number in range(LIST_PAGES_MAX):
        if not isinstance(page := await _page(client, resource.path, query, pause), bytes):
            return Broken(page, paging=number > 0)
        size += len(page)
        read = await sink.list_page(resource.name, page)
        on_page()
        if read.status is not None:
            return Broken(read.status, paging=number > 0)
        if refuse_stale and is_older(read.resource_version, seen):
            return Stale(read.resource_version)
        if not read.continue_token:
            await sink.list_end(resource.name, read.resource_version)
            return Listed(read.resource_version, size)
        # the token contains the version; the API server refuses both together
        query.pop("resourceVersion", None)
        query.pop("resourceVersionMatch", None)
        query["continue"] = read.continue_token
    text = f"the list did not end after {LIST_PAGES_MAX} pages"
    return Broken(Unreachable(Cause.OVERSIZED, text, sent=True), paging=True)


async def _page(
    client: ApiClient,
    path: str,
    query: dict[str, str],
    pause: Callable[[Failure], Awaitable[None]],
) -> bytes | Failure:
    for attempt in range(1, LIST_PAGE_TRIES_MAX + 1):
        answer = await client.request("GET", path, query, body_bytes_max=PAGE_BYTES_MAX)
        match answer:
            case Status() as status:
                again = status.transient and status.code != 504
            case Unreachable() as failure:
                again = failure.cause is Cause.LOST
            case TimedOut():
                again = True
            case response:
                return response.body
        if not again or attempt == LIST_PAGE_TRIES_MAX:
            return answer
        await pause(answer)
    raise AssertionError("unreachable: the last attempt returns")


@dataclass(frozen=True, slots=True)
class RosterPod:
    """A pod. `node` and `nominated` are empty if the API server names none."""

    key: str
    node: str = ""
    nominated: str = ""
    scheduler: str = ""
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class Roster:
    nodes: frozenset[str]
    pods: dict[str, RosterPod]  # by uid


@dataclass(slots=True)
class _Pages:
    """The sink of one list."""

    nodes: set[str] = field(default_factory=set)
    pods: dict[str, RosterPod] = field(default_factory=dict)

    async def list_begin(self, resource: str) -> None:
        self.nodes.clear()
        self.pods.clear()

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        return await asyncio.to_thread(self._read, body)

    async def list_end(self, resource: str, resource_version: str) -> None:
        pass

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        raise AssertionError("nothing is watched")

    def _read(self, body: bytes) -> PageRead:
        page = json.loads(body)
        is_pods = page["kind"] == "PodList"
        for item in page.get("items") or ():
            metadata = item["metadata"]
            if is_pods:
                self.pods[metadata["uid"]] = _pod(item, metadata)
            else:
                self.nodes.add(metadata["name"])
        metadata = page["metadata"]
        return PageRead(metadata.get("continue") or "", metadata.get("resourceVersion") or "")


async def read_roster(client: ApiClient, nodes: Resource, pods: Resource) -> Roster | str:
    """Return both lists, or the reason why that failed. Pages that fail are not requested again:
    the caller can compare later."""
    read: list[_Pages] = []
    for resource in (nodes, pods):
        sink = _Pages()
        if why := await _read(client, resource, sink):
            return f"{resource.name}: {why}"
        read.append(sink)
    return Roster(frozenset(read[0].nodes), read[1].pods)


async def _read(client: ApiClient, resource: Resource, sink: _Pages) -> str:
    try:
        outcome = await read_list(
            client,
            resource,
            sink,
            seen="",
            not_older_than="",
            page_objects=LIST_PAGE_OBJECTS,
            refuse_stale=False,
            pause=_no_pause,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return f"the list could not be read: {type(error).__name__}: {error}"
    if isinstance(outcome, Listed):
        return ""
    return str(outcome.failure) if isinstance(outcome, Broken) else "the list is out of date"


async def _no_pause(_: Failure) -> None:
    pass


def _pod(item: dict[str, Any], metadata: dict[str, Any]) -> RosterPod:
    spec, status = item["spec"], item.get("status") or {}
    return RosterPod(
        f"{metadata['namespace']}/{metadata['name']}",
        spec.get("nodeName") or "",
        status.get("nominatedNodeName") or "",
        spec.get("schedulerName") or "",
        is_leaving="deletionTimestamp" in metadata,
    )
