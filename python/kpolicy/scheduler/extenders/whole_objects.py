"""Pods and nodes as the API server has them, for extenders that are sent whole objects.

Nodes come from a list and watch of their own, which begins when an extender first needs them; a pod
is read when it is needed.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import LinesRead, PageRead
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.engine import Located
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.in_force import Failed
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.watched_resources import RESOURCES
from kpolicy.scheduler.runtime import Tasks

# What reading comes to of an answer that is no object of the API, a proxy's page for one.
NOT_AN_OBJECT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class RawNodes:
    """A `kpolicy.cluster.watch.resource.Sink`; `by_name` is what it holds now."""

    def __init__(self) -> None:
        self.by_name: dict[str, bytes] = {}
        self._named: set[str] | None = None

    async def list_begin(self, resource: str) -> None:
        self._named = set()

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        try:
            page = json.loads(body)
            metadata, items = page["metadata"], list(page.get("items") or ())
            remaining = int(metadata.get("remainingItemCount") or 0)
        except NOT_AN_OBJECT:
            return PageRead("", "", status=Status(0, "", "the answer is no list"))
        for item in items:
            self._take(item)
        return PageRead(
            str(metadata.get("continue") or ""),
            str(metadata.get("resourceVersion") or ""),
            remaining,
        )

    async def list_end(self, resource: str, resource_version: str) -> None:
        named, self._named = self._named or set(), None
        for name in self.by_name.keys() - named:
            del self.by_name[name]

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        version, status = "", None
        for line in lines.splitlines():
            try:
                event = json.loads(line)
                kind, item = event["type"], event["object"]
                if kind == "ERROR":
                    code = int(item.get("code") or 0)
                    reason, message = item.get("reason") or "", item.get("message") or ""
                    status = Status(code, str(reason), str(message))
                    continue
                metadata = item["metadata"]
                version = str(metadata.get("resourceVersion") or version)
                if kind == "BOOKMARK":
                    continue
                name = metadata["name"]
            except NOT_AN_OBJECT:
                continue  # it costs that event only; the engine's own watch names it
            if kind == "DELETED":
                self.by_name.pop(name, None)
            else:
                self._take(item)
        return LinesRead(version, status)

    def _take(self, item: Any) -> None:
        """One that cannot be read costs that one; the engine's own watch names it."""
        try:
            name = str(item["metadata"]["name"])
            self.by_name[name] = bare(item)
        except NOT_AN_OBJECT:
            return
        if self._named is not None:
            self._named.add(name)


_TASK: Final = "informer-nodes-for-extenders"


class WholeNodes:
    """Watches nodes from the first time that they are wanted."""

    def __init__(self, client: ApiClient, clock: Clock, random: Random, tasks: Tasks) -> None:
        self._nodes = RawNodes()
        self._clock = clock
        self._tasks = tasks
        self._informer = Informer(client, RESOURCES["nodes"], self._nodes, clock, random)
        self._running = False

    async def whole(self) -> dict[str, bytes] | str:
        """Every node, or why they are not to be had."""
        if not self._running:
            self._running = True
            self._tasks.begin(self._informer.run, _TASK, INFORMER_SILENT_S_MAX)
        async with self._clock.move_on_after(limits.ADDED_RESOURCE_SYNC_S):
            await self._informer.wait_synced()
            return self._nodes.by_name
        return "the list of nodes for extenders is not whole yet"


def bare(item: dict[str, Any]) -> bytes:
    """An object as kube-scheduler sends it: without its kind and its managers."""
    item.pop("kind", None)
    item.pop("apiVersion", None)
    item["metadata"].pop("managedFields", None)
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()


_NOT_FOUND: Final = 404


class FreshPods:
    """None: the pod is gone, and what has its name is another."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def pending(self, pod: Attempt) -> bytes | Failed | None:
        """The one about which is asked."""
        return await self._read(pod.namespace, pod.name, pod.uid, "the pod")

    async def victim(self, victim: Located) -> bytes | Failed | None:
        """One that is to go."""
        what = f"the pod {victim.namespace}/{victim.name}"
        return await self._read(victim.namespace, victim.name, victim.uid, what)

    async def _read(self, namespace: str, name: str, uid: str, what: str) -> bytes | Failed | None:
        answer = await self._client.request("GET", pod_path(namespace, name))
        if isinstance(answer, Status) and answer.code == _NOT_FOUND:
            return None
        if not isinstance(answer, Response):
            return Failed(f"{what} could not be read: {answer}")
        try:
            document = json.loads(answer.body)
            return bare(document) if document["metadata"]["uid"] == uid else None
        except NOT_AN_OBJECT:
            return Failed(f"{what} could not be read: the answer is no object of the API")
