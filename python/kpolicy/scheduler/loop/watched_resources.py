"""The resources that the engine reads, by their plural names, and a sink for objects read here."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, Final

from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.resource import LinesRead, PageRead, Resource
from kpolicy.object_kinds import OBJECT_KINDS

# A pod that has ended holds nothing; the API server need not send it (as kube-scheduler asks).
_NOT_ENDED: Final = "status.phase!=Succeeded,status.phase!=Failed"

# tests/e2e runs with the rights of this role and no others.
ROLE: Final = "the ClusterRole kpolicy (deploy/kustomize/base/cluster-role.yaml)"

# A controller makes claims of these, and no rule reads one: they are only in snapshots.
RECORDED_ONLY: Final = frozenset({"resourceclaimtemplates"})

READABLE: Final = {
    kind.resource: Resource(
        kind.resource,
        f"/apis/{kind.group}/{kind.version}/{kind.resource}"
        if kind.group
        else f"/api/{kind.version}/{kind.resource}",
        field_selector=_NOT_ENDED if kind.resource == "pods" else "",
        granted_by=ROLE,
        older_paths=tuple(
            f"/apis/{kind.group}/{version}/{kind.resource}" for version in kind.older_versions
        ),
    )
    for kind in OBJECT_KINDS
}
RESOURCES: Final = {
    name: resource for name, resource in READABLE.items() if name not in RECORDED_ONLY
}

# Without pods and nodes there is nothing to schedule. Other resources may be missing in an older
# cluster.
REQUIRED: Final = frozenset({"pods", "nodes"})


def watched(names: list[str]) -> list[Resource]:
    """Pods and nodes first: their lists are the longest."""
    return [RESOURCES[name] for name in RESOURCES if name in REQUIRED.union(names)]


_NO_LIST: Final = Status(0, "", "the answer is not a list")
_NO_EVENT: Final = Status(500, "NotJson", "a line of the watch is no event")


class ObjectSink(ABC):
    """A `kpolicy.cluster.watch.resource.Sink` that parses objects in Python, for the few resources
    that the engine does not read. An answer that is not a list removes nothing, and the list starts
    again."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._listed: set[str] = set()
        self._is_list_whole = True

    def name_of(self, item: Any) -> str:
        """The name by which this sink tells its objects apart; empty if the object has none."""
        return str(metadata_of(item).get("name") or "")

    @abstractmethod
    def put(self, name: str, item: dict[str, Any]) -> None:
        """An object with this name exists."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """The object with this name is gone."""

    async def list_begin(self, resource: str) -> None:
        self._listed, self._is_list_whole = set(), True

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        page = _document(body)
        metadata, items = page.get("metadata"), page.get("items")
        if not isinstance(metadata, dict) or not isinstance(items, list | None):
            self._is_list_whole = False
            return PageRead("", "", status=_NO_LIST)
        self._listed.update(map(self._put, items or ()))
        version, remaining = _version(metadata), metadata.get("remainingItemCount")
        token = str(metadata.get("continue") or "")
        return PageRead(token, version, remaining if isinstance(remaining, int) else 0)

    async def list_end(self, resource: str, resource_version: str) -> None:
        for name in self._held - self._listed if self._is_list_whole else ():
            self._remove(name)

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        version = ""
        for line in lines.splitlines():
            event = _document(line)
            kind, item = event.get("type"), event.get("object")
            if not isinstance(item, dict):
                return LinesRead(version, status=_NO_EVENT)
            if kind == "ERROR":
                return LinesRead(version, status=_status(item))
            version = _version(metadata_of(item)) or version
            if kind == "DELETED":
                self._remove(self.name_of(item))
            elif kind != "BOOKMARK":
                self._put(item)
        return LinesRead(version)

    def _put(self, item: Any) -> str:
        """Ignores an object without a name."""
        name = self.name_of(item)
        if name:
            self._held.add(name)
            self.put(name, item)
        return name

    def _remove(self, name: str) -> None:
        if name in self._held:
            self._held.remove(name)
            self.remove(name)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def metadata_of(item: Any) -> dict[str, Any]:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _version(metadata: dict[str, Any]) -> str:
    return str(metadata.get("resourceVersion") or "")


def _status(item: dict[str, Any]) -> Status:
    code = item.get("code")
    reason, message = (str(item.get(key) or "") for key in ("reason", "message"))
    return Status(code if isinstance(code, int) else 500, reason, message)
