"""How a stored object looks to who asks for it.

Owns the choice between the object as stored, the other version of an event, and kubectl's table.
Pure. Must not know HTTP beyond the text of an Accept header.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kpolicy.testing.encoding import encode
from kpolicy.testing.events import to_core, to_new
from kpolicy.testing.resources import NEW_EVENTS, Resource
from kpolicy.testing.store import Record


def wants_table(accept: str) -> bool:
    """Whether the first form the client accepts is kubectl's table."""
    first = accept.partition(",")[0].replace(" ", "")
    return "as=Table" in first.split(";")


def object_as(resource: Resource, record: Record) -> Mapping[str, Any]:
    """The object in the version asked for."""
    return to_new(record.object) if resource is NEW_EVENTS else record.object


def stored_form(resource: Resource, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A body in the version it was sent in, as it is stored."""
    return to_core(body) if resource is NEW_EVENTS else body


def json_of(resource: Resource, record: Record) -> bytes:
    return encode(to_new(record.object)) if resource is NEW_EVENTS else record.json


def list_json(resource: Resource, records: Iterable[Record], metadata: Mapping[str, Any]) -> bytes:
    if resource is NEW_EVENTS:
        items = b",".join(json_of(resource, record) for record in records)
    else:
        items = b",".join([record.item for record in records])
    return (
        f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
        + encode(metadata)
        + b',"items":['
        + items
        + b"]}"
    )
