"""Evicts a pod and reports the outcome.

Writes the DisruptionTarget condition, then deletes the pod; both requests carry its uid, so that
sending them twice does no harm. The local fence is asked before every request. `NotEvicted` is
reported only when no deletion of ours can still take effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import TypeAlias

from kpolicy.api_times import api_time
from kpolicy.clock import Clock
from kpolicy.cluster.api import JSON, STRATEGIC_MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import (
    EVICT_LOOK_S,
    EVICT_LOOK_S_MAX,
    EVICT_RETRY_AFTER_S_MAX,
    EVICT_RETRY_S,
    EVICT_SENDS_IN_DOUBT_MAX,
    EVICT_TIMEOUT_S,
    EVICT_TRIES_MAX,
)
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.writes.conventions import (
    in_doubt_until_ns,
    observed_generation,
    pod_path,
    read_pod,
    server_timeout,
)

# How the API server says that the uid belongs to another pod: to a deletion (in two ways) and a
# patch.
_OTHER_UID = (
    (409, "UID in precondition"),
    (409, "UID in the precondition"),
    (422, "metadata.uid: Invalid value"),
)


@dataclass(frozen=True, slots=True)
class Eviction:
    """`uid`: the eviction holds for this pod only, not for a new pod of the same name. `message`
    is the reason in the pod's condition; `generation` is the pod's, 0 if it is not known."""

    namespace: str
    name: str
    uid: str
    message: str
    generation: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Evicted:
    """The API server has deleted the pod, or its grace period has begun."""


@dataclass(frozen=True, slots=True)
class AlreadyGone:
    """The pod no longer exists; a pod of that name is another one."""


@dataclass(frozen=True, slots=True)
class AlreadyLeaving:
    """Another client deleted the pod first: its grace period is running."""


@dataclass(frozen=True, slots=True)
class NotEvicted:
    """Rejected, or given up after retries. `code` 0: no response, so it may have been written."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class EvictionFenced:
    """Not sent: we may no longer be the leader."""


EvictionOutcome: TypeAlias = Evicted | AlreadyGone | AlreadyLeaving | NotEvicted | EvictionFenced


def disruption_body(eviction: Eviction, now_ns: int) -> bytes:
    """Return the patch that sets the condition DisruptionTarget, so that the owner knows the
    reason.

    The API server rejects it for another pod of the same name, because of the uid.
    """
    text = encode_basestring_ascii
    return (
        f'{{"metadata":{{"uid":{text(eviction.uid)}}},"status":{{"conditions":['
        '{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler",'
        f'"message":{text(eviction.message)},"lastTransitionTime":"{api_time(now_ns)}"'
        f"{observed_generation(eviction.generation)}}}]}}}}"
    ).encode("ascii")


def deletion_body(eviction: Eviction) -> bytes:
    """Return DeleteOptions with the pod's own grace period.

    The uid is the only precondition: with a resource version, every status update by the kubelet
    would be a conflict.
    """
    return (
        '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":'
        f"{encode_basestring_ascii(eviction.uid)}}}}}"
    ).encode("ascii")


def is_of_another(code: int, message: str) -> bool:
    """Whether a rejection says that this pod is gone."""
    return code == 404 or any(code == own_code and text in message for own_code, text in _OTHER_UID)


_QUERY = {"timeout": server_timeout(EVICT_TIMEOUT_S)}


@dataclass(frozen=True, slots=True)
class _InDoubt:
    """The write may still take effect until then (monotonic); if it does not, `otherwise` holds."""

    otherwise: NotEvicted
    until_ns: int


@dataclass(frozen=True, slots=True)
class _Present:
    """The pod exists, and is not being deleted as far as we know."""


class Evictor:
    """`fence` is True while we may act as leader; always, without leader election."""

    def __init__(
        self, client: ApiClient, clock: Clock, fence: Callable[[], bool] = lambda: True
    ) -> None:
        self._client = client
        self._clock = clock
        self._fence = fence

    async def evict(self, eviction: Eviction) -> EvictionOutcome:
        path = pod_path(eviction.namespace, eviction.name)
        patched = await self._patch_condition(path, eviction)
        if isinstance(patched, _InDoubt):  # a condition that is written late does no harm
            return patched.otherwise
        if not isinstance(patched, Response):
            return patched
        if (left := read_pod(patched.body)) is not None and left.is_ending:
            return AlreadyLeaving()
        deleted = await self._write("DELETE", path, deletion_body(eviction), JSON)
        if isinstance(deleted, _InDoubt):
            return await self._settle(eviction, deleted)
        return Evicted() if isinstance(deleted, Response) else deleted

    async def _patch_condition(
        self, path: str, eviction: Eviction
    ) -> Response | AlreadyGone | NotEvicted | EvictionFenced | _InDoubt:
        body = disruption_body(eviction, self._clock.now_ns())
        return await self._write("PATCH", f"{path}/status", body, STRATEGIC_MERGE_PATCH)

    async def _write(
        self, verb: str, path: str, body: bytes, content_type: str
    ) -> Response | AlreadyGone | NotEvicted | EvictionFenced | _InDoubt:
        doubted_until_ns = 0
        for attempt in range(1, EVICT_TRIES_MAX + 1):
            if not self._fence():
                return EvictionFenced()
            if isinstance(answer := await self._send(verb, path, body, content_type), Response):
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

    async def _settle(self, eviction: Eviction, doubt: _InDoubt) -> EvictionOutcome:
        """Wait until the pod goes, or until no deletion of ours can still take effect.

        The deletion is sent again meanwhile; whichever request arrives, the pod is deleted once.
        """
        until_ns, sends_left, wait_s = doubt.until_ns, EVICT_SENDS_IN_DOUBT_MAX, EVICT_LOOK_S
        path, body = pod_path(eviction.namespace, eviction.name), deletion_body(eviction)
        while True:
            began_ns = self._clock.monotonic_ns()
            answer = await self._client.request("GET", path, timeout_s=EVICT_TIMEOUT_S)
            if isinstance(seen := _seen(eviction, answer), Evicted | AlreadyGone):
                return seen
            if seen is not None and began_ns >= until_ns:
                return doubt.otherwise
            if not self._fence():
                return EvictionFenced()
            if seen is not None and sends_left:
                sends_left -= 1
                if isinstance(sent := await self._send("DELETE", path, body, JSON), Response):
                    return Evicted()
                now_ns = self._clock.monotonic_ns()
                until_ns = max(until_ns, in_doubt_until_ns(sent, now_ns))
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, EVICT_LOOK_S_MAX)

    async def _send(
        self, verb: str, path: str, body: bytes, content_type: str
    ) -> Response | Failure:
        answer = await self._client.request(
            verb,
            path,
            _QUERY,
            body,
            content_type=content_type,
            timeout_s=EVICT_TIMEOUT_S,
            may_send=self._fence,
        )
        try:  # a body that is neither an API object nor a Status is the response of a proxy
            is_of_api = not isinstance(answer, Response) or bool(json.loads(answer.body)["kind"])
        except (ValueError, KeyError, TypeError, RecursionError):
            is_of_api = False
        if not is_of_api:
            return Unreachable(Cause.LOST, "the answer is no object of the API", sent=True)
        return answer


def _seen(
    eviction: Eviction, answer: Response | Failure
) -> Evicted | AlreadyGone | _Present | None:
    """Return what a read of the pod shows; None if it shows nothing."""
    if isinstance(answer, Status) and answer.code == 404:
        return AlreadyGone()
    read = read_pod(answer.body) if isinstance(answer, Response) else None
    if read is None:
        return None
    if read.uid != eviction.uid:
        return AlreadyGone()
    return Evicted() if read.is_ending else _Present()


def _patience(failure: Failure, attempt: int) -> float | None:
    """Return how long to wait before the next try; None if another try would not help."""
    wait_s = EVICT_RETRY_S * 2 ** (attempt - 1)
    if isinstance(failure, Status):
        if not (failure.transient or failure.code == 409):
            return None
        wait_s = max(wait_s, failure.retry_after_s or 0.0)
    elif isinstance(failure, Unreachable) and failure.cause in {Cause.CLOSED, Cause.CREDENTIALS}:
        return None
    return wait_s if wait_s <= EVICT_RETRY_AFTER_S_MAX else None
