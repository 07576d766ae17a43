"""The API objects in the calls of a journal: pages of lists, and lines of watches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.snapshots.json_objects import Json

# By resource, the kind and its API version.
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    kind.resource: (kind.name, f"{kind.group}/{kind.version}" if kind.group else kind.version)
    for kind in OBJECT_KINDS
}


def page_items(body: bytes) -> list[Any]:
    """Items of a page of a list; what is damaged has none."""
    items = json_of(body).get("items")
    return items if isinstance(items, list) else []


def watch_events(lines: bytes) -> Iterator[tuple[str, Any]]:
    """The type of each event, and its object."""
    for line in lines.splitlines():
        event = json_of(line)
        yield str(event.get("type")), event.get("object")


def typed(resource: str, item: Any) -> Json:
    """With its kind, which items of lists do not have."""
    kind, version = KINDS[resource]
    return {"apiVersion": version, "kind": kind, **(item if isinstance(item, dict) else {})}


def json_of(text: bytes) -> Json:
    """Empty where the text is damaged."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
