"""/metrics/resources: what each pod requests and may use at most, as kube-scheduler serves it.

With 100,000 pods this is tens of megabytes. The engine only names the pods of this moment; their
samples are written page by page in other threads, when a client has taken the page before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

from kpolicy.engine import PodResources
from kpolicy.scheduler import limits
from kpolicy.scheduler.runtime import EngineThread

_HELP: Final = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod "
    "for resources along with the unit for the resource if any."
)
_FAMILIES: Final = (
    (
        "kube_pod_resource_request",
        f"[STABLE] Resources requested by workloads on the cluster, {_HELP}",
        PodResources.requests,
    ),
    (
        "kube_pod_resource_limit",
        f"[STABLE] Resources limit for workloads on the cluster, {_HELP}",
        PodResources.limits,
    ),
)


class PodResourceStream:
    """`shows`: whether this replica leads and has read the whole cluster. If not, the answer is
    empty, so that no pod is counted twice and no part is taken for the whole."""

    def __init__(self, thread: EngineThread, shows: Callable[[], bool]) -> None:
        self._thread = thread
        self._shows = shows
        self._turns = asyncio.Semaphore(limits.RESOURCE_SCRAPES_MAX)

    async def pieces(self) -> AsyncGenerator[bytes]:
        if not self._shows():
            return
        async with self._turns:
            pods = await self._thread.call(self._thread.engine.pod_resources)
            for name, text, read in _FAMILIES:
                yield f"# HELP {name} {text}\n# TYPE {name} gauge\n".encode()
                page = 0
                while (lines := await asyncio.to_thread(read, pods, page)) is not None:
                    yield lines
                    page += 1
