"""API objects: kinds that the engine reads, names, and reading them from JSON text one at a time.

Reads documents one after another, nested lists, and text that is cut short. An item without a kind
takes the kind of its list. Memory holds one object, never a whole list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.limits import LIST_NESTING_MAX
from kpolicy.quick_dataclass import dataclass

_SERVED: Final[Mapping[str, frozenset[str]]] = {
    group: frozenset(kind.name for kind in OBJECT_KINDS if kind.group == group)
    for group in sorted({kind.group for kind in OBJECT_KINDS})
}
# Objects of `extensions` are read as those of `apps`, as the engine does.
READ: Final[Mapping[str, frozenset[str]]] = {**_SERVED, "extensions": _SERVED["apps"]}
CLUSTER_SCOPED: Final = frozenset(kind.name for kind in OBJECT_KINDS if not kind.namespaced)
# The scheduler of a pod without `schedulerName`.
DEFAULT_SCHEDULER: Final = "default-scheduler"
_EVERY: Final = frozenset[str]().union(*READ.values())


def is_read(item: Mapping[str, Any]) -> bool:
    """Without an `apiVersion` the name alone decides."""
    kind, version = str(item.get("kind") or ""), str(item.get("apiVersion") or "")
    if not version:
        return kind in _EVERY
    group, slash, _ = version.partition("/")
    return kind in READ.get(group if slash else "", frozenset())


def name_of(item: Mapping[str, Any]) -> str:
    return str(mapping_at(item, "metadata").get("name") or "")


def key_of(item: Mapping[str, Any]) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    if item.get("kind") in CLUSTER_SCOPED:
        return name_of(item)
    return f"{mapping_at(item, 'metadata').get('namespace') or 'default'}/{name_of(item)}"


def uid_of(item: Mapping[str, Any]) -> str:
    """The name under which the engine holds it."""
    return str(mapping_at(item, "metadata").get("uid") or key_of(item))


def mapping_at(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in this field; empty if the field has another form."""
    part = holder.get(name)
    return part if isinstance(part, dict) else {}


Json = dict[str, Any]

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_KIND: Final = re.compile(r'"kind"\s*:\s*"([A-Za-z0-9]+)"')
_METADATA: Final = re.compile(r'"metadata"\s*:\s*\{')
# The usual beginning of an object, with its kind before anything else.
_HEADER: Final = re.compile(
    r'\{\s*"apiVersion"\s*:\s*"[^"\\]*"\s*,\s*"kind"\s*:\s*"([A-Za-z0-9]+)"'
)
_scan: Final = json.JSONDecoder().raw_decode
# Enough to see kind and metadata of an object that is cut short.
_HEAD_CHARACTERS: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Broken:
    """The place where the text stops being JSON: the first lost object, and the line."""

    object: str
    line: int


def objects(body: bytes) -> Iterator[Json | Broken]:
    """Every object; a `Broken` may come last. What is no object is passed over."""
    walk = _Walk(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    try:
        yield from walk.documents()
    except (ValueError, RecursionError):
        yield walk.broken()


def flattened(document: Any, kind: str = "", depth: int = 0) -> Iterator[Json]:
    """The object, or the items of the list that it is."""
    if isinstance(document, list) and depth < LIST_NESTING_MAX:
        for item in document:
            yield from flattened(item, kind, depth + 1)
    elif isinstance(document, dict):
        own = str(document.get("kind") or "")
        items = document.get("items")
        if isinstance(items, list) and (own.endswith("List") or not own):
            yield from flattened(items, own.removesuffix("List"), depth)
        elif own or not kind:
            yield document
        else:
            yield {"kind": kind, **document}


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._item = -1  # position in the list under way
        self._item_at = 0  # where the value under way begins

    def documents(self) -> Iterator[Json]:
        while self._peek():
            self._item = -1
            self._item_at = self._at
            if self._may_be_list():
                yield from self._document()
            else:
                yield from flattened(self._value())

    def broken(self) -> Broken:
        line = self._text.count("\n", 0, self._item_at) + 1
        place = f"items[{self._item}]" if self._item >= 0 else "the object"
        return Broken(
            _named(self._text[self._item_at : self._item_at + _HEAD_CHARACTERS], place), line
        )

    def _may_be_list(self) -> bool:
        """A text that cannot be a list is read at once, which is faster."""
        if self._peek() != "{":
            return False
        header = _HEADER.match(self._text, self._at)
        return header is None or header[1].endswith("List")

    def _document(self) -> Iterator[Json]:
        """Members one by one, so that the items of a list can be."""
        document: Json = {}
        untold: list[Any] = []  # items without a kind, until the list's is known
        is_list = False
        start = self._at
        self._expect("{")
        while self._peek() != "}":
            key = self._value()
            self._expect(":")
            if key == "items" and self._peek() == "[" and self._is_list(document):
                is_list = True
                yield from self._items(untold)
            else:
                self._item, self._item_at = -1, start
                document[str(key)] = self._value()
            if self._peek() != "}":
                self._expect(",")
        self._expect("}")
        if is_list:
            yield from flattened(untold, str(document.get("kind") or "").removesuffix("List"))
        else:
            yield from flattened(document)

    def _is_list(self, document: Json) -> bool:
        """At the top of an object only lists have `items`, ConfigMaps and the like have `data`."""
        kind = document.get("kind")
        return kind is None or str(kind).endswith("List")

    def _items(self, untold: list[Any]) -> Iterator[Json]:
        self._expect("[")
        self._item = 0
        while self._peek() != "]":
            self._item_at = self._at
            item = self._value()
            self._item, self._item_at = self._item + 1, self._at
            if isinstance(item, dict) and item.get("kind"):
                yield from flattened(item)
            else:
                untold.append(item)
            if self._peek() != "]":
                self._expect(",")
        self._expect("]")

    def _peek(self) -> str:
        """The next character that is no space; empty at the end."""
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(character)
        self._at += 1

    def _value(self) -> Any:
        self._peek()
        value, self._at = _scan(self._text, self._at)
        return value


def _named(text: str, place: str) -> str:
    """`Pod default/web-1 (items[17])`, as far as the text tells."""
    kind = _KIND.search(text)
    start = _METADATA.search(text)
    if kind is None or start is None:
        return place
    try:
        metadata, _ = _scan(text, start.end() - 1)
    except (ValueError, RecursionError):
        return f"{kind[1]} ({place})"
    parts = (metadata.get("namespace"), metadata.get("name"))
    return f"{kind[1]} {'/'.join(str(part) for part in parts if part)} ({place})"
