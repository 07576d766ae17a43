"""Events in their two versions.

Owns the way between core/v1 (which is stored) and events.k8s.io/v1, and what an API server refuses
of either. Pure. Must not know the store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kpolicy.testing import failures, limits
from kpolicy.testing.failures import Cause, Failure
from kpolicy.testing.resources import EVENTS, NEW_EVENTS

Object = Mapping[str, Any]

# Field of the new API -> field of the core API; all others have one name.
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


def to_core(event: Object) -> Object:
    return {_RENAMED.get(key, key): value for key, value in event.items()}


def to_new(event: Object) -> dict[str, Any]:
    new = {_RENAMED_BACK.get(key, key): value for key, value in event.items()}
    return {**new, "apiVersion": NEW_EVENTS.api_version}


def check_new_event(event: Object, namespace: str, *, new_api: bool) -> Failure | None:
    """What is wrong with an event (in its stored form) that is created."""
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
    return _failure(event, causes)


def check_event_update(old: Object, new: Object, *, new_api: bool) -> Failure | None:
    """In the new API an event's series grows; nothing else of it changes."""
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
    return _failure(old, causes)


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
    series = event.get("series")
    if series is None:
        return []
    causes: list[Cause] = []
    if (series.get("count") or 0) < 2:
        causes.append(failures.not_valid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        causes.append(failures.required("series.lastObservedTime"))
    return causes


def _failure(event: Object, causes: list[Cause]) -> Failure | None:
    name = (event.get("metadata") or {}).get("name", "")
    return failures.invalid(EVENTS, name, causes) if causes else None
