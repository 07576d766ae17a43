"""Evict a pod, and know what came of it.

Owns the two requests and their retries. Both hold for one uid, so that twice is once: a lost answer
is settled by sending again, and where that does not help by the pod itself: "not evicted" is said
when no deletion of ours can come through any more. Assumes that the caller bounds how many are
under way. Must not know why the pod has to go. The local fence is asked before every single send,
also of a retry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kpolicy.clock import Clock
from kpolicy.cluster.api import JSON, STRATEGIC_MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.binding import pod_path
from kpolicy.cluster.doubt import in_doubt_until_ns, server_timeout
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
    is_of_api,
    pod_ending,
)
from kpolicy.cluster.failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.limits import (
    EVICT_LOOK_S,
    EVICT_LOOK_S_MAX,
    EVICT_RETRY_AFTER_S_MAX,
    EVICT_RETRY_S,
    EVICT_SENDS_IN_DOUBT_MAX,
    EVICT_TIMEOUT_S,
    EVICT_TRIES_MAX,
)
from kpolicy.cluster.pod_condition import FIRST_GENERATION, generation_of

_NOT_FOUND = 404
_CONFLICT = 409


_QUERY = {"timeout": server_timeout(EVICT_TIMEOUT_S)}


@dataclass(frozen=True, slots=True)
class _InDoubt:
    """It may be done until then (monotonic); `otherwise` if it was not."""

    otherwise: NotEvicted
    until_ns: int


@dataclass(frozen=True, slots=True)
class _There:
    """The pod is there, and stays as far as is known."""


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
        if isinstance(told, _InDoubt):  # a condition that is written late ends nobody
            return told.otherwise
        if not isinstance(told, Response):
            return told
        if _is_ending(told.body):
            return AlreadyLeaving()
        deleted = await self._write("DELETE", path, deletion_body(eviction), JSON)
        if isinstance(deleted, _InDoubt):
            return await self._learn(eviction, deleted)
        return Evicted() if isinstance(deleted, Response) else deleted

    async def _tell(
        self, path: str, eviction: Eviction
    ) -> Response | AlreadyGone | NotEvicted | EvictionFenced | _InDoubt:
        """Once more where the answer shows a pod of another generation than pods begin with."""
        now_ns, generation = self._clock.now_ns(), FIRST_GENERATION
        for _ in range(2):
            body = disruption_body(eviction, now_ns, generation)
            told = await self._write("PATCH", f"{path}/status", body, STRATEGIC_MERGE_PATCH)
            if not isinstance(told, Response) or _is_ending(told.body):
                break
            seen = generation_of(told.body)
            if seen in {0, generation}:
                break
            generation = seen
        return told

    async def _write(
        self, verb: str, path: str, body: bytes, content_type: str
    ) -> Response | AlreadyGone | NotEvicted | EvictionFenced | _InDoubt:
        doubted_until_ns = 0
        for attempt in range(1, EVICT_TRIES_MAX + 1):
            if not self._fence():
                return EvictionFenced()
            answer = await self._send(verb, path, body, content_type)
            if isinstance(answer, Response):
                return answer
            if isinstance(answer, Status) and is_of_another(answer.code, answer.message):
                return AlreadyGone()
            outcome = NotEvicted(answer.code if isinstance(answer, Status) else 0, str(answer))
            until_ns = in_doubt_until_ns(answer, self._clock.monotonic_ns())
            doubted_until_ns = max(doubted_until_ns, until_ns)
            wait_s = _patience(answer, attempt)
            if wait_s is None or attempt == EVICT_TRIES_MAX:
                break
            await self._clock.sleep(wait_s)
        return _InDoubt(outcome, doubted_until_ns) if doubted_until_ns else outcome

    async def _learn(self, eviction: Eviction, doubt: _InDoubt) -> EvictionOutcome:
        """Until it goes, or no deletion of ours is under way any more. It is sent again meanwhile:
        whichever comes through, it goes once."""
        until_ns, sends_left, wait_s = doubt.until_ns, EVICT_SENDS_IN_DOUBT_MAX, EVICT_LOOK_S
        path, body = pod_path(eviction.namespace, eviction.name), deletion_body(eviction)
        while True:
            began_ns = self._clock.monotonic_ns()
            answer = await self._client.request("GET", path, timeout_s=EVICT_TIMEOUT_S)
            seen = _seen(eviction, answer)
            if isinstance(seen, Evicted | AlreadyGone):
                return seen
            if seen is not None and began_ns >= until_ns:
                return doubt.otherwise
            if not self._fence():
                return EvictionFenced()
            if seen is not None and sends_left:
                sends_left -= 1
                sent = await self._send("DELETE", path, body, JSON)
                if isinstance(sent, Response):
                    return Evicted()
                now_ns = self._clock.monotonic_ns()
                until_ns = max(until_ns, in_doubt_until_ns(sent, now_ns))
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, EVICT_LOOK_S_MAX)

    async def _send(
        self, verb: str, path: str, body: bytes, content_type: str
    ) -> Response | Failure:
        answer = await self._client.request(
            verb, path, _QUERY, body, content_type=content_type, timeout_s=EVICT_TIMEOUT_S
        )
        if isinstance(answer, Response) and not is_of_api(answer.body):
            return Unreachable(Cause.LOST, "the answer is no object of the API", sent=True)
        return answer


def _is_ending(body: bytes) -> bool:
    left = pod_ending(body)
    return left is not None and left.is_ending


def _seen(eviction: Eviction, answer: Response | Failure) -> Evicted | AlreadyGone | _There | None:
    """What a read of the pod tells; None: nobody can tell now."""
    if isinstance(answer, Status) and answer.code == _NOT_FOUND:
        return AlreadyGone()
    read = pod_ending(answer.body) if isinstance(answer, Response) else None
    if read is None:
        return None
    if read.uid != eviction.uid:
        return AlreadyGone()
    return Evicted() if read.is_ending else _There()


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
