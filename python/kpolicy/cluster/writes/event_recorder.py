"""Writes events (events.k8s.io/v1) as kube-scheduler does, and counts repetitions as series.

Has a queue and workers of its own: when the API server is slow, events wait or are dropped and
counted, and binds are not delayed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Literal
from urllib.parse import quote

from kpolicy.api_times import NANOSECONDS, api_micro_time
from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import JSON, MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import (
    EVENT_ENDING_NAMESPACES_MAX,
    EVENT_ENDING_S,
    EVENT_NOTE_BYTES_MAX,
    EVENT_QUEUE_MAX,
    EVENT_SERIES_MAX,
    EVENT_SERIES_S,
    EVENT_SERIES_WRITE_S,
    EVENT_WORD_BYTES_MAX,
    EVENT_WORKERS,
    NAME_BYTES_MAX,
)
from kpolicy.cluster.request_failure import Failure, Status
from kpolicy.cluster.writes.outbox import Outbox, write


@dataclass(slots=True)
class Series:
    """An Event object, and how often its occurrence was repeated."""

    key: Hashable
    namespace: str
    name: str
    count: int
    last_seen_ns: int  # monotonic
    last_seen_wall_ns: int
    written_count: int = 1
    last_write_ns: int = 0

    @property
    def unwritten(self) -> bool:
        return self.count > self.written_count


class SeriesMemory:
    """Remembers recent events. Beyond the limit, the least recently seen are forgotten."""

    def __init__(self, series_max: int = EVENT_SERIES_MAX) -> None:
        self._series_max = series_max
        self._series: OrderedDict[Hashable, Series] = OrderedDict()

    def __len__(self) -> int:
        return len(self._series)

    def seen(self, key: Hashable, monotonic_ns: int, wall_ns: int) -> Series | None:
        """Count an occurrence; None if there is no current series, so that a new Event is
        needed."""
        series = self._series.get(key)
        if series is None or monotonic_ns - series.last_seen_ns > EVENT_SERIES_S * NANOSECONDS:
            return None
        self._series.move_to_end(key)
        series.count += 1
        series.last_seen_ns, series.last_seen_wall_ns = monotonic_ns, wall_ns
        return series

    def begin(
        self, key: Hashable, namespace: str, name: str, monotonic_ns: int, wall_ns: int
    ) -> None:
        self._series.pop(key, None)
        self._series[key] = Series(
            key, namespace, name, 1, monotonic_ns, wall_ns, last_write_ns=monotonic_ns
        )
        if len(self._series) > self._series_max:
            self._series.popitem(last=False)

    def end(self, key: Hashable) -> None:
        """Forget a series whose Event was not written or no longer exists."""
        self._series.pop(key, None)

    def worth_writing(self, series: Series, monotonic_ns: int) -> bool:
        """Whether to write the count: at the first repetition, then at most once a period."""
        return series.unwritten and (
            series.written_count == 1
            or monotonic_ns - series.last_write_ns >= EVENT_SERIES_WRITE_S * NANOSECONDS
        )

    def written(self, series: Series, monotonic_ns: int) -> None:
        series.written_count, series.last_write_ns = series.count, monotonic_ns

    def due(self, monotonic_ns: int) -> Iterator[Series]:
        """Yield series whose count should be written; forget those that have ended."""
        for key, series in list(self._series.items()):
            ended = monotonic_ns - series.last_seen_ns > EVENT_SERIES_S * NANOSECONDS
            if series.unwritten and (ended or self.worth_writing(series, monotonic_ns)):
                yield series
            if ended:
                self._series.pop(key, None)


_ELLIPSIS = b" ..."


@dataclass(frozen=True, slots=True)
class Reference:
    """The object that an event is about."""

    namespace: str
    name: str
    uid: str
    kind: str = "Pod"
    api_version: str = "v1"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened. `controller` is the profile's schedulerName. With `once`, it can
    happen to an object only once, and no series is remembered."""

    regarding: Reference
    kind: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
    controller: str
    related: Reference | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class _NewEvent:
    occurrence: Occurrence
    name: str
    wall_ns: int
    key: Hashable


class EndingNamespaces:
    """Namespaces in which the API server creates nothing more, because they are being deleted or
    are gone."""

    def __init__(self) -> None:
        self._until_ns: OrderedDict[str, int] = OrderedDict()

    def learn(self, namespace: str, answer: Response | Failure, now_ns: int) -> None:
        if isinstance(answer, Status) and _is_ending(answer):
            self._until_ns[namespace] = now_ns + round(EVENT_ENDING_S * NANOSECONDS)
            self._until_ns.move_to_end(namespace)
            if len(self._until_ns) > EVENT_ENDING_NAMESPACES_MAX:
                self._until_ns.popitem(last=False)

    def has(self, namespace: str, now_ns: int) -> bool:
        until_ns = self._until_ns.get(namespace)
        if until_ns is not None and now_ns >= until_ns:
            del self._until_ns[namespace]
            return False
        return until_ns is not None


def _is_ending(answer: Status) -> bool:
    """The words of kube-apiserver's admission plugin NamespaceLifecycle."""
    return answer.code == 404 or (
        answer.code == 403 and "because it is being terminated" in answer.message
    )


class EventRecorder:
    """Run it as a task. `instance` distinguishes replicas (reportingInstance). While `gives_way`
    returns True, one event is written at a time."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        instance: str,
        *,
        gives_way: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._clock = clock
        self._instance = cut_utf8(instance, EVENT_WORD_BYTES_MAX)
        self._memory = SeriesMemory()
        self._ending = EndingNamespaces()
        self._last_stamp = 0
        self.outbox: Outbox[_NewEvent | Series] = Outbox(
            self._send, capacity=EVENT_QUEUE_MAX, workers=EVENT_WORKERS, gives_way=gives_way
        )

    def scheduled(self, pod: Reference, node: str, controller: str) -> None:
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self.record(Occurrence(pod, "Normal", "Scheduled", "Binding", note, controller, once=True))

    def waiting_for_devices(self, pod: Reference, node: str, controller: str) -> None:
        note = f"waiting for binding conditions for device on node {node}"
        reason = "BindingConditionsPending"
        self.record(Occurrence(pod, "Normal", reason, "Scheduling", note, controller))

    def failed_scheduling(self, pod: Reference, message: str, controller: str) -> None:
        self.record(
            Occurrence(pod, "Warning", "FailedScheduling", "Scheduling", message, controller)
        )

    def record(self, occurrence: Occurrence) -> None:
        """Queue an event, or count it in its series; never waits."""
        now_ns, wall_ns = self._clock.monotonic_ns(), self._clock.now_ns()
        if self._ending.has(event_namespace(occurrence.regarding), now_ns):
            return
        key: Hashable = None
        if not occurrence.once:
            key = hash(occurrence)  # a hash, since notes may be long and thousands are remembered
            if (series := self._memory.seen(key, now_ns, wall_ns)) is not None:
                if self._memory.worth_writing(series, now_ns):
                    self._offer_series(series, now_ns)
                return
        self._last_stamp = max(self._last_stamp + 1, wall_ns)
        name = event_name(occurrence.regarding.name, self._last_stamp)
        if self.outbox.offer(name, _NewEvent(occurrence, name, wall_ns, key)) and key is not None:
            namespace = event_namespace(occurrence.regarding)
            self._memory.begin(key, namespace, name, now_ns, wall_ns)

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.outbox.run(pulse))
            group.create_task(self._count_on())

    async def _count_on(self) -> None:
        while True:
            await self._clock.sleep(EVENT_SERIES_WRITE_S)
            now_ns = self._clock.monotonic_ns()
            for series in self._memory.due(now_ns):
                self._offer_series(series, now_ns)

    def _offer_series(self, series: Series, now_ns: int) -> None:
        if self.outbox.offer(f"series/{series.namespace}/{series.name}", series):
            self._memory.written(series, now_ns)

    async def _send(self, item: _NewEvent | Series) -> bool:
        namespace = (
            item.namespace
            if isinstance(item, Series)
            else event_namespace(item.occurrence.regarding)
        )
        if self._ending.has(namespace, self._clock.monotonic_ns()):
            return False
        if isinstance(item, Series):
            answer = await write(
                self._client,
                self._clock,
                "PATCH",
                f"{_path(item.namespace)}/{item.name}",
                series_body(item.count, item.last_seen_wall_ns),
                content_type=MERGE_PATCH,
            )
            if isinstance(answer, Status) and answer.code == 404:
                self._memory.end(
                    item.key
                )  # the Event expired in etcd after an hour: the next one is a new Event
            return isinstance(answer, Response)
        path = _path(namespace)
        body = event_body(item.occurrence, item.name, item.wall_ns, self._instance)
        answer = await write(self._client, self._clock, "POST", path, body, content_type=JSON)
        # names are unique: a conflict is our own earlier try whose response was lost
        if isinstance(answer, Response) or (isinstance(answer, Status) and answer.code == 409):
            return True
        self._ending.learn(namespace, answer, self._clock.monotonic_ns())
        if item.key is not None:
            self._memory.end(item.key)
        return False


def _path(namespace: str) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{quote(namespace, safe='')}/events"


def event_namespace(regarding: Reference) -> str:
    """Return the namespace of an event: `default` for objects without one."""
    return regarding.namespace or "default"


def event_name(object_name: str, stamp: int) -> str:
    """Return `<object>.<hex>`: a valid name however long the object's name is."""
    suffix = f".{stamp:x}"
    return object_name[: NAME_BYTES_MAX - len(suffix)].rstrip("-.") + suffix


def cut_note(note: str) -> str:
    """Shorten a note to what the API accepts, as kube-scheduler does."""
    raw = note.encode("utf-8", "replace")
    if len(raw) <= EVENT_NOTE_BYTES_MAX:
        return raw.decode()
    return cut_utf8(note, EVENT_NOTE_BYTES_MAX - len(_ELLIPSIS)) + _ELLIPSIS.decode()


def cut_utf8(text: str, bytes_max: int) -> str:
    """Return the longest prefix of so many bytes that does not split a character."""
    return text.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")


def event_body(occurrence: Occurrence, name: str, wall_ns: int, instance: str) -> bytes:
    json = encode_basestring_ascii
    namespace = json(event_namespace(occurrence.regarding))
    related = f',"related":{_reference(occurrence.related)}' if occurrence.related else ""
    return (
        '{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":'
        f'{json(name)},"namespace":{namespace}}},"eventTime":"{api_micro_time(wall_ns)}",'
        f'"reportingController":{json(occurrence.controller)},'
        f'"reportingInstance":{json(instance)},'
        f'"action":{json(cut_utf8(occurrence.action, EVENT_WORD_BYTES_MAX))},'
        f'"reason":{json(cut_utf8(occurrence.reason, EVENT_WORD_BYTES_MAX))},'
        f'"regarding":{_reference(occurrence.regarding)}{related},'
        f'"note":{json(cut_note(occurrence.note))},"type":"{occurrence.kind}"}}'
    ).encode("ascii")


def series_body(count: int, last_seen_wall_ns: int) -> bytes:
    last = api_micro_time(last_seen_wall_ns)
    return f'{{"series":{{"count":{count},"lastObservedTime":"{last}"}}}}'.encode("ascii")


def _reference(to: Reference) -> str:
    json = encode_basestring_ascii
    namespace = f'"namespace":{json(to.namespace)},' if to.namespace else ""
    return (
        f'{{"apiVersion":{json(to.api_version)},"kind":{json(to.kind)},{namespace}'
        f'"name":{json(to.name)},"uid":{json(to.uid)}}}'
    )
