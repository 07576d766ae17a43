"""An object in the version that a client asks for: events exist in two API groups. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic_core import to_json

from kpolicy.testing import limits
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.failures import Cause
from kpolicy.testing.objects.resource_types import EVENTS, NEW_EVENTS, Resource
from kpolicy.testing.objects.store import Record

Object = Mapping[str, Any]

# field of the new API -> field of the core API; all others have the same name
_RENAMED: Final[Mapping[str, str]] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_RENAMED_BACK: Final = {old: new for new, old in _RENAMED.items()}
_TYPES: Final = ("Normal", "Warning")
_QUALIFIED_NAME: Final = re.compile(r"([^/]+/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UNSET_IN_NEW: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
_IMMUTABLE_IN_NEW: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def to_new(event: Object) -> dict[str, Any]:
    new = {_RENAMED_BACK.get(key, key): value for key, value in event.items()}
    return {**new, "apiVersion": NEW_EVENTS.api_version}


def check_new_event(event: Object, namespace: str, *, new_api: bool) -> None:
    """Check a new event, in its stored form."""
    causes = _causes_in_both(event, namespace, new_api=new_api)
    if new_api:
        causes += _series_causes(event)
        if not event.get("eventTime"):
            causes.append(failures.required("eventTime"))
        if event.get("type") not in _TYPES:
            detail = f"has invalid value: {event.get('type') or ''}"
            causes.append(failures.not_valid("type", "", detail))
        causes += [
            failures.not_valid(field, "", "needs to be unset")
            for field in _UNSET_IN_NEW
            if event.get(field)
        ]
    _refuse(event, causes)


def check_event_update(old: Object, new: Object, *, new_api: bool) -> None:
    """Check an update of an event: in the new API only its series may change."""
    namespace = old["metadata"].get("namespace", "")
    causes = _causes_in_both(new, namespace, new_api=new_api)
    if new_api:
        if new.get("series") != old.get("series"):
            causes += _series_causes(new)
        causes += [
            failures.not_valid(field, "", "field is immutable")
            for field in _IMMUTABLE_IN_NEW
            if (new.get(field) or None) != (old.get(field) or None)
        ]
    _refuse(old, causes)


def _causes_in_both(event: Object, namespace: str, *, new_api: bool) -> list[Cause]:
    causes: list[Cause] = []
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    timed = bool(event.get("eventTime"))
    misplaced = involved != namespace if involved and not timed else False
    if not involved:
        misplaced = namespace != "default" and not (timed and namespace == "kube-system")
    if misplaced:
        detail = "does not match event.namespace"
        causes.append(failures.not_valid("involvedObject.namespace", involved, detail))
    if not timed:
        return causes
    reporter = "reportingController" if new_api else "reportingComponent"
    if not event.get("reportingComponent"):
        causes.append(failures.required(reporter))
    elif not _QUALIFIED_NAME.fullmatch(event["reportingComponent"]):
        detail = "name part must consist of alphanumeric characters, '-', '_' or '.'"
        causes.append(failures.not_valid(reporter, event["reportingComponent"], detail))
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            causes.append(failures.required(field))
        causes += _too_long(field, event.get(field), limits.EVENT_WORD_BYTES_MAX)
    return causes + _too_long("message", event.get("message"), limits.EVENT_NOTE_BYTES_MAX)


def _too_long(field: str, value: str | None, bytes_max: int) -> list[Cause]:
    if len((value or "").encode()) <= bytes_max:
        return []
    return [failures.not_valid(field, "", f"can have at most {bytes_max} characters")]


def _series_causes(event: Object) -> list[Cause]:
    if (series := event.get("series")) is None:
        return []
    causes: list[Cause] = []
    if (series.get("count") or 0) < 2:
        causes.append(failures.not_valid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        causes.append(failures.required("series.lastObservedTime"))
    return causes


def _refuse(event: Object, causes: list[Cause]) -> None:
    if causes:
        name = (event.get("metadata") or {}).get("name", "")
        raise failures.invalid(EVENTS, name, causes)


def wants_table(accept: str) -> bool:
    """Whether the client prefers kubectl's table."""
    return "as=Table" in accept.partition(",")[0].replace(" ", "").split(";")


def object_as(resource: Resource, record: Record) -> Mapping[str, Any]:
    """Return the object in the requested version."""
    return to_new(record.object) if resource is NEW_EVENTS else record.object


def stored_form(resource: Resource, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a body as it is stored."""
    if resource is not NEW_EVENTS:
        return body
    return {_RENAMED.get(key, key): value for key, value in body.items()}


def json_of(resource: Resource, record: Record) -> bytes:
    return to_json(to_new(record.object)) if resource is NEW_EVENTS else record.json


def list_json(resource: Resource, records: Iterable[Record], metadata: Mapping[str, Any]) -> bytes:
    is_new = resource is NEW_EVENTS
    items = [json_of(resource, record) if is_new else record.item for record in records]
    return (
        f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
        + to_json(metadata)
        + b',"items":['
        + b",".join(items)
        + b"]}"
    )
