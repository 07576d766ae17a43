"""The node that a placed pod is meant for, told in its status before something slow is done for it.

Owns the budget of these writes. Clause: kube-scheduler writes `status.nominatedNodeName` where a
pre-bind will do work (NominatedNodeNameForExpectation), and goes on where that fails; a bind clears
it, and so does what is told of an attempt that came to nothing. Whoever leads next finds it, keeps
the room, and others know that the node is wanted. Must not know what the slow work is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from kpolicy.clock import Clock
from kpolicy.scheduler import limits
from kpolicy.scheduler.queued_pod import QueuedPod


class StatusPort(Protocol):
    def nominate(self, namespace: str, name: str, uid: str, node: str) -> None: ...
    async def at_rest(self, uid: str) -> None: ...


class Nominations:
    """`fence` is true while we may act."""

    def __init__(self, status: StatusPort, clock: Clock, fence: Callable[[], bool]) -> None:
        self._status = status
        self._clock = clock
        self._fence = fence
        self._window = asyncio.Semaphore(limits.NOMINATIONS_IN_FLIGHT_MAX)

    async def tell(self, pod: QueuedPod, node: str) -> None:
        """Returns once it is written or given up, and in any case before long."""
        writing = asyncio.ensure_future(self._write(pod, node))
        deadline = asyncio.ensure_future(self._clock.sleep(limits.NOMINATION_S_MAX))
        try:
            await asyncio.wait({writing, deadline}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writing.cancel()
            deadline.cancel()

    async def _write(self, pod: QueuedPod, node: str) -> None:
        async with self._window:
            if self._fence():
                self._status.nominate(pod.namespace, pod.name, pod.uid, node)
                await self._status.at_rest(pod.uid)
