"""Evict a pod, and know what came of it.

Owns the two requests and their retries. Both hold for one uid, so that twice is once: a lost answer
is settled by sending again. Assumes that the caller bounds how many are under way. Must not know
why the pod has to go. The local fence is asked before every single send, also of a retry.
"""

from __future__ import annotations

from collections.abc import Callable

from kpolicy.clock import Clock
from kpolicy.cluster.api import JSON, STRATEGIC_MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.binding import pod_path
from kpolicy.cluster.eviction import (
    AlreadyGone,
    AlreadyLeaving,
    Evicted,
    Eviction,
    EvictionFenced,
    EvictionOutcome,
    NotEvicted,
    deletion_body,
    disruption_body,
    is_of_another,
    is_terminating,
)
from kpolicy.cluster.failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.limits import (
    EVICT_RETRY_AFTER_S_MAX,
    EVICT_RETRY_S,
    EVICT_TIMEOUT_S,
    EVICT_TRIES_MAX,
)
from kpolicy.cluster.pod_condition import FIRST_GENERATION, generation_of

_CONFLICT = 409


class Evictor:
    """`fence` is true while we may act; without leader election, always."""

    def __init__(
        self, client: ApiClient, clock: Clock, fence: Callable[[], bool] = lambda: True
    ) -> None:
        self._client = client
        self._clock = clock
        self._fence = fence

    async def evict(self, eviction: Eviction) -> EvictionOutcome:
        path = pod_path(eviction.namespace, eviction.name)
        told = await self._tell(path, eviction)
        if not isinstance(told, Response):
            return told
        if is_terminating(told.body):
            return AlreadyLeaving()
        deleted = await self._write("DELETE", path, deletion_body(eviction), JSON)
        return Evicted() if isinstance(deleted, Response) else deleted

    async def _tell(
        self, path: str, eviction: Eviction
    ) -> Response | AlreadyGone | NotEvicted | EvictionFenced:
        """Once more where the answer shows a pod of another generation than pods begin with."""
        now_ns, generation = self._clock.now_ns(), FIRST_GENERATION
        for _ in range(2):
            body = disruption_body(eviction, now_ns, generation)
            told = await self._write("PATCH", f"{path}/status", body, STRATEGIC_MERGE_PATCH)
            if not isinstance(told, Response) or is_terminating(told.body):
                break
            seen = generation_of(told.body)
            if seen in {0, generation}:
                break
            generation = seen
        return told

    async def _write(
        self, verb: str, path: str, body: bytes, content_type: str
    ) -> Response | AlreadyGone | NotEvicted | EvictionFenced:
        for attempt in range(1, EVICT_TRIES_MAX + 1):
            if not self._fence():
                return EvictionFenced()
            answer = await self._client.request(
                verb, path, body=body, content_type=content_type, timeout_s=EVICT_TIMEOUT_S
            )
            if isinstance(answer, Response):
                return answer
            if isinstance(answer, Status) and is_of_another(answer.code, answer.message):
                return AlreadyGone()
            wait_s = _patience(answer, attempt)
            if wait_s is None or attempt == EVICT_TRIES_MAX:
                break
            await self._clock.sleep(wait_s)
        return NotEvicted(answer.code if isinstance(answer, Status) else 0, str(answer))


def _patience(failure: Failure, attempt: int) -> float | None:
    """How long to wait before the next try; None where none would help."""
    wait_s = EVICT_RETRY_S * 2 ** (attempt - 1)
    if isinstance(failure, Status):
        if not (failure.transient or failure.code == _CONFLICT):
            return None
        wait_s = max(wait_s, failure.retry_after_s or 0.0)
    elif isinstance(failure, Unreachable) and failure.cause in {Cause.CLOSED, Cause.CREDENTIALS}:
        return None
    return wait_s if wait_s <= EVICT_RETRY_AFTER_S_MAX else None
