"""Pods and nodes as the API server has them, for extenders that are sent whole objects.

Nodes come from a list and watch of their own, which begins when an extender first needs them; a pod
is read when it is needed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any, Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.engine import Located
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.in_force import Failed
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.watched_resources import RESOURCES, ObjectSink
from kpolicy.scheduler.runtime import Tasks

# The failure for an answer that is not an API object, such as a proxy's page.
_NOT_AN_OBJECT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class RawNodes(ObjectSink):
    """`by_name` has the nodes as they are now."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: dict[str, bytes] = {}

    def put(self, name: str, item: dict[str, Any]) -> None:
        # Text that is not Unicode makes one node unreadable, not all of them; the engine's own
        # watch reports it.
        with suppress(UnicodeEncodeError, RecursionError):
            self.by_name[name] = bare(item)

    def remove(self, name: str) -> None:
        self.by_name.pop(name, None)


_TASK: Final = "informer-nodes-for-extenders"


class WholeNodes:
    """Watches nodes, beginning when they are first needed."""

    def __init__(self, client: ApiClient, clock: Clock, random: Random, tasks: Tasks) -> None:
        self._nodes = RawNodes()
        self._clock = clock
        self._tasks = tasks
        self._informer = Informer(client, RESOURCES["nodes"], self._nodes, clock, random)
        self._running = False

    async def whole(self) -> dict[str, bytes] | str:
        """Every node, or why the nodes cannot be read."""
        if not self._running:
            self._running = True
            self._tasks.begin(self._informer.run, _TASK, INFORMER_SILENT_S_MAX)
        async with self._clock.move_on_after(limits.ADDED_RESOURCE_SYNC_S):
            await self._informer.wait_synced()
            return self._nodes.by_name
        return "the list of nodes for extenders is not complete yet"


def bare(item: dict[str, Any]) -> bytes:
    """An object as kube-scheduler sends it: without its kind and its managers."""
    item.pop("kind", None)
    item.pop("apiVersion", None)
    item["metadata"].pop("managedFields", None)
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()


_NOT_FOUND: Final = 404


class FreshPods:
    """Reads pods from the API server. The result is None if the pod is gone; another pod may have
    its name."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def pending(self, pod: Attempt) -> bytes | Failed | None:
        """The pod that the extenders are asked about."""
        return await self._read(pod.namespace, pod.name, pod.uid, "the pod")

    async def victim(self, victim: Located) -> bytes | Failed | None:
        """A pod that would be evicted."""
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
        except _NOT_AN_OBJECT:
            return Failed(f"{what} could not be read: the answer is no object of the API")
