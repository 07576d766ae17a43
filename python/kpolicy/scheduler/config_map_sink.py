"""One ConfigMap, kept up to date by an informer.

Owns the reading of its lists and watch lines: Python reads these objects, for they are few, and the
engine never sees them. Assumes lists and watches of that one name. Must not know what the texts in
it are for.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from kpolicy.cluster.watch.resource import LinesRead, PageRead, WatchStatus
from kpolicy.scheduler.config_map_name import ConfigMapName

_log = logging.getLogger(__name__)

_BROKEN: Final = WatchStatus(500, "NotJson", "a line of the watch is no event")


@dataclass(frozen=True, slots=True)
class HeldConfigMap:
    """What it was last seen to be. `digest` is of its texts alone."""

    name: ConfigMapName
    uid: str
    resource_version: str
    data: Mapping[str, str]
    digest: str


class ConfigMapSink:
    """`on_change` hears when its texts differ, or it comes or goes."""

    def __init__(self, name: ConfigMapName, on_change: Callable[[], None]) -> None:
        self._name = name
        self._on_change = on_change
        self._listed: dict[str, Any] | None = None
        self._is_list_whole = True
        self.held: HeldConfigMap | None = None
        self.last_uid = ""  # also after it is gone: what is told of it is about this one

    @property
    def digest(self) -> str:
        return self.held.digest if self.held is not None else ""

    # --- kpolicy.cluster.watch.resource.Sink -----------------------------------------------------

    async def list_begin(self, resource: str) -> None:
        self._listed, self._is_list_whole = None, True

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        page = _object(body)
        metadata = page.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(page.get("items"), list | None):
            self._is_list_whole = False
            _log.warning("a list of %s could not be read", self._name.shown)
            return PageRead("", "")
        for item in page.get("items") or ():
            if isinstance(item, dict) and _metadata(item).get("name") == self._name.name:
                self._listed = item
        version = str(metadata.get("resourceVersion") or "")
        return PageRead(str(metadata.get("continue") or ""), version)

    async def list_end(self, resource: str, resource_version: str) -> None:
        if self._is_list_whole:
            self._take(self._listed)

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        version = ""
        for line in lines.splitlines():
            event = _object(line)
            kind, item = event.get("type"), event.get("object")
            if not isinstance(item, dict):
                return LinesRead(version, status=_BROKEN)
            if kind == "ERROR":
                return LinesRead(version, status=_status(item))
            metadata = _metadata(item)
            version = str(metadata.get("resourceVersion") or version)
            if kind != "BOOKMARK" and metadata.get("name") == self._name.name:
                self._take(None if kind == "DELETED" else item)
        return LinesRead(version)

    # --- what it says ----------------------------------------------------------------------------

    def _take(self, item: dict[str, Any] | None) -> None:
        before = self.digest
        self.held = _held(self._name, item) if item is not None else None
        if self.held is not None:
            self.last_uid = self.held.uid
        if self.digest != before:
            self._on_change()


def _held(name: ConfigMapName, item: dict[str, Any]) -> HeldConfigMap:
    metadata, data = _metadata(item), item.get("data")
    texts = {key: value for key, value in (data or {}).items() if isinstance(value, str)}
    canonical = json.dumps(texts, sort_keys=True).encode()
    return HeldConfigMap(
        name,
        str(metadata.get("uid") or ""),
        str(metadata.get("resourceVersion") or ""),
        texts,
        sha256(canonical).hexdigest(),
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _metadata(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _status(item: dict[str, Any]) -> WatchStatus:
    code = item.get("code")
    return WatchStatus(
        code if isinstance(code, int) else 500,
        str(item.get("reason") or ""),
        str(item.get("message") or ""),
    )
