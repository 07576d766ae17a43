"""The pods that plugins are asked about, as the API server last showed them.

The bytes of a watch are kept as they came, and read when a plugin looks at them: a plugin that does
not look costs nothing. Pods on nodes are kept only for plugins that say so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from json import JSONDecoder
from typing import Any, Final

from kpolicy.engine import PodChange, PodState

# The line of a watch as the API server writes it: its uid is found without reading the whole line.
_LINE: Final = re.compile(
    rb'\{"type":"[A-Z]+","object":\{(?:"kind":"Pod",)?(?:"apiVersion":"v1",)?'
    rb'"metadata":\{[^\[\]{}]*?"uid":"([^"\\]+)"'
)
_decode: Final = JSONDecoder().raw_decode
_WHITESPACE: Final = re.compile(r"[ \t\n\r]*")


class Pod:
    """A pod at one moment. It does not change; later states are other objects."""

    __slots__ = ("_labels", "_node", "_text", "name", "namespace", "uid")

    def __init__(
        self, namespace: str, name: str, uid: str, text: bytes = b"", node: str = ""
    ) -> None:
        """`text` is the line of a watch, or the item of a list. `node` is known before the text
        has it."""
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self._text = text
        self._node = node
        self._labels: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"Pod({self.key})"

    def on(self, node: str) -> Pod:
        """The pod when it was bound to this node."""
        return Pod(self.namespace, self.name, self.uid, self._text, node)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def object(self) -> dict[str, Any]:
        """The pod as the API server shows it. It is read anew each time, so that the store stays
        small: keep what you need more than once."""
        if not self._text:
            metadata = {"namespace": self.namespace, "name": self.name, "uid": self.uid}
            return {"metadata": metadata, "spec": {}, "status": {}}
        document: dict[str, Any] = json.loads(self._text)
        if "metadata" not in document:
            document = document["object"]
        return document

    @property
    def labels(self) -> dict[str, str]:
        if self._labels is None:
            self._labels = self.object["metadata"].get("labels") or {}
        return self._labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.object["metadata"].get("annotations") or {}

    @property
    def node(self) -> str:
        """The node that it is on, or empty."""
        return self._node or self.object.get("spec", {}).get("nodeName") or ""


class PodStore:
    """The pending pods, and those on nodes if `keeps_bound`. Written by the scheduler's loop and
    read by the thread of plugins, for which a pod is never missing while it changes: it is written
    to its new place before it leaves the old one."""

    def __init__(self, *, keeps_bound: bool) -> None:
        self.keeps_bound = keeps_bound
        self._pending: dict[str, Pod] = {}
        self._bound: dict[str, Pod] = {}
        # Pods that kpolicy has bound and that the watch does not show on their nodes yet.
        self._just_bound: dict[str, Pod] = {}
        # What came with the last bytes, until the engine says what became of it.
        self._fresh: dict[str, bytes] = {}

    def of(self, namespace: str, name: str, uid: str) -> Pod:
        """A pod that is being tried. Nothing but its name is known if it has left meanwhile."""
        return self._pending.get(uid) or Pod(namespace, name, uid)

    def bound(self) -> list[Pod]:
        return list({**self._just_bound, **self._bound}.values())

    def just_bound(self, uid: str, node: str) -> None:
        """The API server has bound it, and the watch may show so later."""
        pod = self._pending.get(uid)
        if pod is not None and self.keeps_bound:
            self._just_bound[uid] = pod.on(node)

    def keep(self, pod: Pod, *, is_on_node: bool) -> None:
        """A pod of a cluster that is not watched, or its newest state."""
        self._bound.pop(pod.uid, None)
        if not is_on_node:
            self._pending[pod.uid] = pod
        elif self.keeps_bound:
            self._bound[pod.uid] = pod

    def lines(self, lines: bytes) -> None:
        for line in lines.splitlines():
            if uid := _uid(line):
                self._fresh[uid] = line

    def page(self, body: bytes) -> None:
        """The page of a list. Runs in a thread: a page may have thousands of pods."""
        for uid, text in _items(body.decode(errors="replace")):
            self._fresh[uid] = text.encode()

    def applied(self, changes: Iterable[PodChange]) -> None:
        """What the engine made of the bytes."""
        fresh = self._fresh
        self._fresh = {}
        for change in changes:
            self._apply(change, fresh.pop(change.uid, b""))
        for uid, text in fresh.items():
            # Nothing that the queue reads has changed, but perhaps a label.
            for kept in (self._pending, self._bound):
                if (known := kept.get(uid)) is not None:
                    kept[uid] = Pod(known.namespace, known.name, uid, text)

    def _apply(self, change: PodChange, text: bytes) -> None:
        uid, known = change.uid, self._pending.get(change.uid) or self._bound.get(change.uid)
        pod = Pod(change.namespace, change.name, uid, text) if text or known is None else known
        if change.change == PodState.PENDING:
            self._pending[uid] = pod
            self._bound.pop(uid, None)
            return
        if change.change == PodState.ON_NODE and self.keeps_bound:
            self._bound[uid] = pod
        else:
            self._bound.pop(uid, None)
        self._pending.pop(uid, None)
        self._just_bound.pop(uid, None)


def _uid(line: bytes) -> str:
    """Empty for a line that is no pod."""
    found = _LINE.match(line)
    if found is not None:
        return found.group(1).decode()
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return _uid_of(read.get("object")) if isinstance(read, dict) else ""


def _uid_of(item: Any) -> str:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return uid if isinstance(uid, str) else ""


def _items(text: str) -> Iterator[tuple[str, str]]:
    """The uid and the text of each item of a list. Items are read one by one, so that other threads
    can run in between. What cannot be read is left out; the engine reports it."""
    try:
        yield from _items_read(text)
    except (ValueError, RecursionError):
        return


def _items_read(text: str) -> Iterator[tuple[str, str]]:
    at = _skip(text, 0) + 1
    while text[at - 1 : at] in ("{", ","):
        key, at = _decode(text, _skip(text, at))
        at = _skip(text, _skip(text, at) + 1)
        if key != "items" or text[at : at + 1] != "[":
            _, at = _decode(text, at)
            at = _skip(text, at) + 1
            continue
        at = _skip(text, at + 1)
        while text[at : at + 1] not in ("]", ""):
            item, end = _decode(text, at)
            if uid := _uid_of(item):
                yield uid, text[at:end]
            at = _skip(text, end)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
        at = _skip(text, at + 1) + 1


def _skip(text: str, at: int) -> int:
    found = _WHITESPACE.match(text, at)
    return found.end() if found is not None else at
