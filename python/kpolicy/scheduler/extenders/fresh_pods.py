"""Pods as the API server has them now, for those who are sent them whole.

Owns the reads and what their failures mean. Must not know who is asked, nor why.
"""

from __future__ import annotations

import json
from typing import Final

from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.engine import Located
from kpolicy.scheduler.extenders.client import Failed
from kpolicy.scheduler.extenders.raw_nodes import NOT_AN_OBJECT, bare
from kpolicy.scheduler.queued_pod import QueuedPod

_NOT_FOUND: Final = 404


class FreshPods:
    """None: the pod is gone, and what has its name is another."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def pending(self, pod: QueuedPod) -> bytes | Failed | None:
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
