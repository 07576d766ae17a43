"""Follows a live cluster: journals its lists and watches, so that decisions of any scheduler can be
compared with those of a policy.

Fields that snapshots never have are left out here too. A list that cannot be read begins again, as
in the running scheduler.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import LinesRead, PageRead, Resource
from kpolicy.journal.engine_calls import Held
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.limits import ANEW_S
from kpolicy.offline.snapshot_file.writer import cleaned
from kpolicy.recorder.record import KINDS, list_of

RECORDER: Final = "kpolicy snapshot record"
# No engine decided anything, so that it held nothing besides objects.
_HELD_NOTHING: Final = Held(b"[]", b'{"decisions": 0}')
_NO_LIST: Final = Status(0, "", "the answer is not a list")
_NO_EVENT: Final = Status(500, "NotJson", "a line of the watch is no event")


class JournalSink:
    """The `kpolicy.cluster.watch.resource.Sink` of a journal, in the place of an engine's."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    async def list_begin(self, resource: str) -> None:
        self._note("list_begin", resource)

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        kind = KINDS[resource]
        page = list_of(body, kind)
        if page is None:
            return PageRead("", "", status=_NO_LIST)
        items = [cleaned({"kind": kind, **item}) for item in page.get("items") or ()]
        self._note("list_page", resource, _bytes({**page, "items": items}), self._clock.now_ns())
        metadata = page["metadata"]
        return PageRead(
            str(metadata.get("continue") or ""),
            str(metadata.get("resourceVersion") or ""),
            int(metadata.get("remainingItemCount") or 0),
        )

    async def list_end(self, resource: str, resource_version: str) -> None:
        self._note("list_end", resource, self._clock.now_ns())

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        version, kept, status = "", [], None
        for line in lines.splitlines():
            event = _event(line)
            if event is None:
                status = _NO_EVENT
                break
            item = event["object"]
            if event.get("type") == "ERROR":
                status = _status(item)
                break
            metadata = item.get("metadata")
            if isinstance(metadata, dict):
                version = str(metadata.get("resourceVersion") or "") or version
            kept.append(_bytes({**event, "object": cleaned(item)}))
        if kept:
            self._note("watch", resource, b"".join(kept), self._clock.now_ns())
        return LinesRead(version, status)

    def _note(self, call: str, *arguments: Any) -> None:
        self._journal(call, arguments, {}, None)


async def follow(
    client: ApiClient,
    journal: Journal,
    clock: Clock,
    random: Random,
    *,
    wanted: Sequence[Resource],
    anew: asyncio.Event,
    on_synced: Callable[[], None],
) -> None:
    """Runs until it is cancelled. `anew` is set when the journal needs all objects again."""
    sink = JournalSink(journal, clock)
    informers = [Informer(client, resource, sink, clock, random) for resource in wanted]
    async with asyncio.TaskGroup() as group:
        for informer in informers:
            group.create_task(informer.run())
        for informer in informers:
            await informer.wait_synced()
        on_synced()
        while True:
            await anew.wait()
            if journal.statistics().is_behind:
                await clock.sleep(ANEW_S)
            anew.clear()
            if await asyncio.wrap_future(journal.begin_anew()):
                await _list_anew(informers)
                journal("checkpoint", (), {}, _HELD_NOTHING)


async def _list_anew(informers: Sequence[Informer]) -> None:
    async with asyncio.TaskGroup() as group:
        for informer in informers:
            group.create_task(informer.list_anew())


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_event = isinstance(event, dict) and isinstance(event.get("object"), dict)
    return event if is_event else None


def _status(item: dict[str, Any]) -> Status:
    code = item.get("code")
    reason, message = (str(item.get(key) or "") for key in ("reason", "message"))
    return Status(code if isinstance(code, int) else 500, reason, message)


def _bytes(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"
