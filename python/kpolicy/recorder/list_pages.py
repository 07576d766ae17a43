"""What is recorded, and the sink that passes each object of a list page to the snapshot writer.

Adds the kind and apiVersion that items of a list leave out. Holds one page at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from kpolicy.cluster.watch.resource import LinesRead, PageRead
from kpolicy.offline.snapshot_file.writer import Writer
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.scheduler.loop.watched_resources import RESOURCES

KINDS: Final[Mapping[str, str]] = {
    "pods": "Pod",
    "nodes": "Node",
    "namespaces": "Namespace",
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "storageclasses": "StorageClass",
    "csinodes": "CSINode",
    "csidrivers": "CSIDriver",
    "csistoragecapacities": "CSIStorageCapacity",
    "volumeattachments": "VolumeAttachment",
    "poddisruptionbudgets": "PodDisruptionBudget",
}
RECORDED: Final = tuple(RESOURCES[name] for name in KINDS)


# How often the list of one kind may start again because its continue token expired or a page was
# too large. Pages are resized each time, so more restarts have another cause.
LIST_TRIES_MAX: Final = 12
# the growth of pages after a continue token expired, as in informers
PAGE_GROWTH: Final = 4
# the wait before a page is requested again, unless the server asks for another
RETRY_S: Final = 1.0
# the number of forbidden kinds that a message names
KINDS_NAMED_MAX: Final = 20


Progress = Callable[[int, int], None]


class Pages:
    """Takes list pages. `is_broken`: a successful response was not a list."""

    def __init__(self, writer: Writer, progress: Progress | None = None) -> None:
        self.problems: list[Problem] = []
        self.is_broken = False
        self._writer = writer
        self._progress = progress
        self._objects_before = 0
        self._objects = 0

    async def list_begin(self, resource: str) -> None:
        """Drop what an earlier try of this list has written."""
        self._writer.discard(KINDS[resource])
        self._objects = 0

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        if (page := _list_of(body, KINDS[resource])) is None:
            self.is_broken = True
            return PageRead("", "")
        version, kind = str(page.get("apiVersion") or ""), KINDS[resource]
        for item in page.get("items") or ():
            problem = self._writer.add({"apiVersion": version, "kind": kind, **item})
            if problem is not None:
                self.problems.append(problem)
            self._objects += 1
        metadata = page["metadata"]
        remaining = int(metadata.get("remainingItemCount") or 0)
        if self._progress is not None:
            done = self._objects_before + self._objects
            self._progress(done, done + remaining)
        return PageRead(
            str(metadata.get("continue") or ""),
            str(metadata.get("resourceVersion") or ""),
            remaining,
        )

    async def list_end(self, resource: str, resource_version: str) -> None:
        self._objects_before += self._objects
        self._objects = 0

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        raise AssertionError("unreachable: a recording watches nothing")


def _list_of(body: bytes, kind: str) -> dict[str, Any] | None:
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(page, dict) and page.get("kind") == f"{kind}List"
    if not is_list or not isinstance(page.get("metadata"), dict):
        return None
    items = page.get("items") or []
    right = isinstance(items, list) and all(isinstance(item, dict) for item in items)
    return page if right else None
