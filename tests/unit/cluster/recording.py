"""A sink that remembers what it reads.

It stands for the engine in tests of `cluster/`: it decodes JSON, applies lists and watch events to
a dictionary, and keeps the calls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.resource import LinesRead, PageRead


class RecordingSink:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.batches: list[bytes] = []
        self.objects: dict[str, str] = {}  # name → resourceVersion
        self._named: set[str] | None = None
        self._changed = asyncio.Condition()

    async def list_begin(self, resource: str) -> None:
        self.calls.append("begin")
        self._named = set()

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        self.calls.append("page")
        try:
            document = json.loads(body)
        except ValueError:
            return PageRead("", "", status=Status(500, "NotJson", "not JSON"))
        metadata = document["metadata"]
        for item in document["items"]:
            self._put(item)
        return PageRead(
            metadata.get("continue", ""),
            metadata["resourceVersion"],
            metadata.get("remainingItemCount", 0),
        )

    async def list_end(self, resource: str, resource_version: str) -> None:
        self.calls.append(f"end {resource_version}")
        assert self._named is not None
        self.objects = {k: v for k, v in self.objects.items() if k in self._named}
        self._named = None
        await self._tell()

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        assert lines.endswith(b"\n")
        self.batches.append(lines)
        version, status = "", None
        for line in lines.splitlines():
            event = json.loads(line)
            kind, item = event["type"], event["object"]
            if kind == "ERROR":
                status = Status(item["code"], item.get("reason", ""), item.get("message", ""))
                continue
            version = item["metadata"]["resourceVersion"]
            if kind == "BOOKMARK":
                continue
            if kind == "DELETED":
                self.objects.pop(item["metadata"]["name"], None)
            else:
                self._put(item)
        self.calls.append(f"lines {version}" if status is None else f"status {status.code}")
        await self._tell()
        return LinesRead(version, status)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is so; bounded by the test's own timeout."""
        async with self._changed:
            await self._changed.wait_for(true)

    def _put(self, item: dict[str, Any]) -> None:
        name = item["metadata"]["name"]
        self.objects[name] = item["metadata"]["resourceVersion"]
        if self._named is not None:
            self._named.add(name)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def page(version: int, *names: str, token: str = "") -> bytes:
    items = [{"metadata": {"name": name, "resourceVersion": str(version)}} for name in names]
    metadata = {"resourceVersion": str(version), "continue": token}
    return json.dumps({"kind": "List", "metadata": metadata, "items": items}).encode()


def event(kind: str, version: int, name: str, **annotations: str) -> bytes:
    metadata = {"name": name, "resourceVersion": str(version), "annotations": annotations}
    return json.dumps({"type": kind, "object": {"metadata": metadata}}).encode() + b"\n"


def error_event(code: int, reason: str, message: str) -> bytes:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
