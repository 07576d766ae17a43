"""Watches: send each change to the clients that watch its resource.

Each resource has a hub, which encodes a change once for all its watches. A watch has its own
selector, bookmarks, time limit and faults. The store's history provides past changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from pydantic_core import to_json

from kpolicy.clock import Clock
from kpolicy.testing import limits
from kpolicy.testing.apiserver import tables
from kpolicy.testing.apiserver.api_calls import WatchFault
from kpolicy.testing.apiserver.http_server import Stream
from kpolicy.testing.apiserver.list_parameters import WatchParameters
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.object_views import json_of
from kpolicy.testing.objects.resource_types import Resource
from kpolicy.testing.objects.store import Change, ChangeType, Record, Store

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
# asked before each event; None if no faults are injected
FaultSource = Callable[[], WatchFault]


def event_line(type_: str, object_json: bytes) -> bytes:
    return b'{"type":"' + type_.encode() + b'","object":' + object_json + b"}\n"


class Watch:
    """One client's watch of one resource."""

    def __init__(
        self,
        hub: Hub,
        stream: Stream,
        parameters: WatchParameters,
        *,
        namespace: str,
        include_object: str | None,
        fault: FaultSource | None,
    ) -> None:
        self._hub = hub
        self._stream = stream
        self._selector = parameters.selector
        self._selects = not parameters.selector.is_everything
        self._namespace = namespace
        self._include_object = include_object  # None: send objects; otherwise rows of a table
        self._fault = fault
        self._silent = False
        self._columns_sent = False
        # the client already has all revisions up to this one
        self.seen = parameters.revision or 0

    def take(self, change: Change, line: bytes) -> None:
        """Take a change, and the line for it that clients without a selector get."""
        record = change.record
        if change.revision <= self.seen or (
            self._namespace and record.namespace != self._namespace
        ):
            return
        self.seen = change.revision
        if not self._selects and self._include_object is None:
            self.send(line)
            return
        if (event := self._event_for(change)) is not None:
            self.send(self.line(*event))

    def line(self, type_: ChangeType, record: Record) -> bytes:
        if self._include_object is None:
            return event_line(type_.value, json_of(self._hub.resource, record))
        table = tables.table(
            self._hub.resource,
            [record],
            self._hub.clock.now_ns(),
            metadata={"resourceVersion": str(record.revision)},
            include_object=self._include_object,
            with_columns=not self._columns_sent,
        )
        self._columns_sent = True
        return event_line(type_.value, to_json(table))

    def send(self, line: bytes) -> None:
        if (
            self._silent or self._stream.closed
        ):  # nothing that comes later breaks a silent watch again
            return
        if self._fault is not None:
            fault = self._fault()
            if fault is WatchFault.CLOSE:
                self._stream.end()
            elif fault is WatchFault.BREAK:
                self._stream.cut()
            elif fault is WatchFault.SILENCE:
                self._silent = True
            elif fault is WatchFault.DUPLICATE:
                self._stream.send(line)
            elif fault is WatchFault.DROP:
                return
        if not self._silent:
            self._stream.send(line)

    def bookmark(self, revision: int, annotations: Mapping[str, str] | None = None) -> None:
        if self._silent:
            return
        resource = self._hub.resource
        metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = dict(annotations)
        own = (resource.kind, resource.api_version)
        kind, version = own if self._include_object is None else (tables.KIND, tables.API_VERSION)
        object_ = {"kind": kind, "apiVersion": version, "metadata": metadata}
        self._stream.send(event_line("BOOKMARK", to_json(object_)))

    def expired(self, oldest: int) -> None:
        message = f"too old resource version: {self.seen} ({oldest})"
        self._stream.send(event_line("ERROR", to_json(failures.expired(message).status())))
        self._stream.end()

    def shows(self, record: Record) -> bool:
        inside = not self._namespace or record.namespace == self._namespace
        return inside and self._selector.matches(record.object)

    def _event_for(self, change: Change) -> tuple[ChangeType, Record] | None:
        """Return what a change means for this watch: objects enter and leave its selector."""
        record, previous = change.record, change.previous
        before = previous is not None and self._selector.matches(previous.object)
        after = change.type is not ChangeType.DELETED and self._selector.matches(record.object)
        if after:
            return (ChangeType.MODIFIED if before else ChangeType.ADDED), record
        if not before:
            return None
        if change.type is ChangeType.DELETED:
            return ChangeType.DELETED, record
        assert previous is not None
        return ChangeType.DELETED, previous.restamped(record.revision)


class Hub:
    """All watches of one resource."""

    def __init__(self, resource: Resource, store: Store, clock: Clock) -> None:
        self.resource = resource
        self.clock = clock
        self._store = store
        self._watches: dict[Watch, None] = {}  # in the order of opening
        self._stop_listening: Callable[[], None] | None = None

    @property
    def watches(self) -> int:
        return len(self._watches)

    def open(
        self,
        stream: Stream,
        parameters: WatchParameters,
        *,
        namespace: str,
        include_object: str | None,
        fault: FaultSource | None,
    ) -> None:
        watch = Watch(
            self,
            stream,
            parameters,
            namespace=namespace,
            include_object=include_object,
            fault=fault,
        )
        if not self._catch_up(watch, parameters) or stream.closed:
            return
        if self._stop_listening is None:
            self._stop_listening = self._store.listen(self.resource, self._send_to_all)
        self._watches[watch] = None
        stream.beside = partial(self._keep, watch, stream, parameters)
        stream.on_closed = partial(self._closed, watch)

    def _catch_up(self, watch: Watch, parameters: WatchParameters) -> bool:
        """Send what the watch has missed; False if the history no longer has it."""
        if parameters.revision is None or parameters.initial_events:
            for record in self._store.records(self.resource):
                if watch.shows(record):
                    watch.send(watch.line(ChangeType.ADDED, record))
            watch.seen = self._store.revision
            if parameters.initial_events and parameters.bookmarks:
                watch.bookmark(watch.seen, {INITIAL_EVENTS_END: "true"})
            return True
        if (changes := self._store.changes_since(self.resource, parameters.revision)) is None:
            watch.expired(self._store.oldest_revision(self.resource))
            return False
        for change in changes:
            watch.take(change, self._line(change))
        return True

    def _send_to_all(self, change: Change) -> None:
        line = self._line(change)
        for watch in tuple(self._watches):
            watch.take(change, line)

    def _line(self, change: Change) -> bytes:
        return event_line(change.type.value, json_of(self.resource, change.record))

    async def _keep(self, watch: Watch, stream: Stream, parameters: WatchParameters) -> None:
        """Send bookmarks each minute and shortly before the end, then end the watch."""
        left_s = parameters.timeout_s
        while left_s > 0:
            before_end_s = left_s - limits.BOOKMARK_BEFORE_END_S
            last = before_end_s <= limits.BOOKMARK_PERIOD_S
            wait_s = max(before_end_s, 0.0) if last else limits.BOOKMARK_PERIOD_S
            await self.clock.sleep(wait_s)
            if parameters.bookmarks:
                watch.bookmark(self._store.revision)
            left_s -= wait_s
            if last:
                await self.clock.sleep(left_s)
                break
        stream.end()

    def _closed(self, watch: Watch) -> None:
        self._watches.pop(watch, None)
        if not self._watches and self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
