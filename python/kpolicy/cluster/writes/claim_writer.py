"""Writes claims on devices: allocates them and reserves them for a pod before its bind, takes the
reservation back if the bind fails, and gives up allocations that keep a pod from its nodes.

As in kube-scheduler, the finalizer is written before the allocation, so that an allocated claim
does not vanish. Each patch holds for one object (its uid) at the version that was read (its
resourceVersion); after a conflict or a lost answer the object is read again. The local fence is
asked before every request. Every state that the API server answers is passed on at once, because
the watch may lag behind and another pod must not get the same devices.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from random import Random
from typing import Final, TypeAlias
from urllib.parse import quote

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.clock import Clock
from kpolicy.cluster.api import MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import (
    BIND_TIMEOUT_S,
    CLAIM_LOOK_S,
    VOLUME_WRITE_RETRY_S,
    VOLUME_WRITE_TRIES_MAX,
    VOLUME_WRITES_IN_FLIGHT_MAX,
)
from kpolicy.cluster.request_failure import Failure, Status
from kpolicy.cluster.writes.claim_state import (
    ClaimChange,
    ClaimUser,
    Json,
    problem_of,
    readiness_of,
    with_share_ids,
)
from kpolicy.cluster.writes.conventions import pod_path, server_timeout

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
EXTENDED: Final = "resource.kubernetes.io/extended-resource-claim"

_QUERY: Final = {"timeout": server_timeout(BIND_TIMEOUT_S)}
_NOT_AN_OBJECT: Final = "the answer is not an object of the API"


@dataclass(frozen=True, slots=True)
class ClaimWritten:
    """The claim as it stands now."""

    claim: Json


@dataclass(frozen=True, slots=True)
class ClaimNotWritten:
    """`is_fenced`: not sent, because we may no longer be the leader. `is_unknown`: there was no
    answer, so that it may have been written. `is_gone`: there is no such claim."""

    message: str
    is_fenced: bool = False
    is_unknown: bool = False
    is_gone: bool = False


ClaimOutcome: TypeAlias = ClaimWritten | ClaimNotWritten
_FENCED: Final = ClaimNotWritten("", is_fenced=True)


async def _ignore(_: Json) -> None:
    pass


class ClaimWriter:
    """`fence` is True while we may act as leader; always, without leader election. `on_answer` is
    called with each claim that the API server answers."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        fence: Callable[[], bool] = lambda: True,
        *,
        random: Random,
        on_answer: Callable[[Json], Awaitable[None]] = _ignore,
    ) -> None:
        self._client = client
        self._clock = clock
        self._fence = fence
        self._random = random
        self._on_answer = on_answer
        self._window = asyncio.Semaphore(VOLUME_WRITES_IN_FLIGHT_MAX)

    async def write(self, user: ClaimUser, change: ClaimChange) -> ClaimOutcome:
        """Allocates a claim, if it has to be, and reserves it for the pod."""
        async with self._window:
            if change.name:
                return await self._hold(user, change.name, change)
            made = await self._make(user, change)
            if isinstance(made, ClaimNotWritten):
                return made
            metadata = made.claim["metadata"]
            outcome = await self._hold(user, metadata["name"], change)
            if isinstance(outcome, ClaimWritten):
                outcome = await self._tell_pod(user, outcome, change)
            if isinstance(outcome, ClaimNotWritten):
                await self._delete(user, metadata["name"], metadata["uid"])
            return outcome

    async def take_back(self, user: ClaimUser, name: str) -> None:
        """The pod was not bound: it has no claim to these devices any more. The allocation stays,
        as in kube-scheduler. Returns when the API server has answered, or we lead no longer."""
        wait_s = VOLUME_WRITE_RETRY_S
        while True:
            async with self._window:
                outcome = await self._leave(user, name)
            if isinstance(outcome, ClaimWritten) or not outcome.is_unknown:
                return
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, CLAIM_LOOK_S)

    async def give_up(
        self, user: ClaimUser, name: str, uid: str, *, to_delete: bool
    ) -> ClaimOutcome:
        """Takes the allocation from a claim that nobody but the pod uses, or deletes the claim that
        was made for the pod's extended resources."""
        async with self._window:
            if to_delete:
                return await self._delete(user, name, uid)
            return await self._deallocate(user, name, uid)

    async def ready(self, user: ClaimUser, name: str, seconds_max: int) -> str:
        """Waits until drivers have made the claim's devices ready. Returns why they did not, or an
        empty text."""
        began = api_time(self._clock.now_ns())
        while True:
            read = await self._read(user, name)
            if isinstance(read, ClaimNotWritten):
                return read.message
            problem, is_ready = readiness_of(read.claim)
            if problem or is_ready:
                return problem
            allocation = read.claim["status"].get("allocation") or {}
            since = allocation.get("allocationTimestamp") or began
            now_ns = self._clock.now_ns()
            if api_time(now_ns - seconds_max * NANOSECONDS) > since:
                return f"claim {name} binding timeout"
            await self._clock.sleep(CLAIM_LOOK_S)

    async def _make(self, user: ClaimUser, change: ClaimChange) -> ClaimOutcome:
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": user.name,
            "uid": user.uid,
            "controller": True,
        }
        body = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": f"{user.name}-extended-resources-",
                "namespace": user.namespace,
                "annotations": {EXTENDED: "true"},
                "ownerReferences": [owner],
            },
            "spec": {"devices": {"requests": change.requests}},
        }
        return await self._send("POST", _claims(user.namespace), body, "application/json")

    async def _leave(self, user: ClaimUser, name: str) -> ClaimOutcome:
        outcome = await self._read(user, name)
        if isinstance(outcome, ClaimNotWritten):
            return outcome
        for _ in range(VOLUME_WRITE_TRIES_MAX):
            await self._on_answer(outcome.claim)
            consumers = list((outcome.claim.get("status") or {}).get("reservedFor") or ())
            left = [consumer for consumer in consumers if consumer.get("uid") != user.uid]
            if len(left) == len(consumers):
                return outcome
            body = {"metadata": _version(outcome.claim), "status": {"reservedFor": left or None}}
            written = await self._send("PATCH", f"{_path(user, name)}/status", body, MERGE_PATCH)
            if isinstance(written, ClaimWritten) or written.is_fenced:
                return written
            read = await self._read(user, name)
            if isinstance(read, ClaimNotWritten):
                return read
            outcome = read
        return outcome

    async def _deallocate(self, user: ClaimUser, name: str, uid: str) -> ClaimOutcome:
        read = await self._read(user, name)
        if isinstance(read, ClaimNotWritten):
            return read
        status = read.claim.get("status") or {}
        others = [own for own in status.get("reservedFor") or () if own.get("uid") != user.uid]
        if read.claim["metadata"].get("uid") != uid or others:
            return ClaimNotWritten(f"claim {user.namespace}/{name} is used by another pod")
        if not status.get("allocation") and not status.get("reservedFor"):
            return read
        nothing = {"allocation": None, "reservedFor": None, "devices": None}
        body = {"metadata": _version(read.claim), "status": nothing}
        return await self._send("PATCH", f"{_path(user, name)}/status", body, MERGE_PATCH)

    async def _delete(self, user: ClaimUser, name: str, uid: str) -> ClaimOutcome:
        """Without its allocation and its finalizer first: nothing else would remove them while the
        pod is there."""
        outcome = await self._deallocate(user, name, uid)
        if isinstance(outcome, ClaimNotWritten):
            return outcome
        finalizers = list(outcome.claim["metadata"].get("finalizers") or ())
        if FINALIZER in finalizers:
            left = [each for each in finalizers if each != FINALIZER]
            body = {"metadata": {**_version(outcome.claim), "finalizers": left or None}}
            outcome = await self._send("PATCH", _path(user, name), body, MERGE_PATCH)
            if isinstance(outcome, ClaimNotWritten):
                return outcome
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        return await self._send("DELETE", _path(user, name), options, "application/json")

    async def _hold(self, user: ClaimUser, name: str, change: ClaimChange) -> ClaimOutcome:
        outcome: ClaimOutcome = ClaimNotWritten("")
        for attempt in range(VOLUME_WRITE_TRIES_MAX):
            read = await self._read(user, name)
            if isinstance(read, ClaimNotWritten):
                return read
            claim = read.claim
            await self._on_answer(claim)
            if problem := problem_of(claim, user, change):
                return ClaimNotWritten(problem)
            outcome = await self._step(user, name, claim, change)
            if isinstance(outcome, ClaimWritten):
                return outcome
            if outcome.is_fenced or not outcome.message:
                return outcome
            await self._clock.sleep(VOLUME_WRITE_RETRY_S * 2**attempt)
        return outcome

    async def _step(
        self, user: ClaimUser, name: str, claim: Json, change: ClaimChange
    ) -> ClaimOutcome:
        """The finalizer first, then the status."""
        path = _path(user, name)
        finalizers = list(claim["metadata"].get("finalizers") or ())
        if change.allocation is not None and FINALIZER not in finalizers:
            metadata = {**_version(claim), "finalizers": [*finalizers, FINALIZER]}
            outcome = await self._send("PATCH", path, {"metadata": metadata}, MERGE_PATCH)
            if isinstance(outcome, ClaimNotWritten):
                return outcome
            claim = outcome.claim
        status = claim.get("status") or {}
        consumers = list(status.get("reservedFor") or ())
        if any(consumer.get("uid") == user.uid for consumer in consumers):
            return ClaimWritten(claim)
        own = {"resource": "pods", "name": user.name, "uid": user.uid}
        wanted: Json = {"reservedFor": [*consumers, own]}
        if change.allocation is not None:
            now = api_time(self._clock.now_ns())
            wanted["allocation"] = {
                **with_share_ids(change.allocation, self._random),
                "allocationTimestamp": now,
            }
        body = {"metadata": _version(claim), "status": wanted}
        return await self._send("PATCH", f"{path}/status", body, MERGE_PATCH)

    async def _tell_pod(
        self, user: ClaimUser, held: ClaimWritten, change: ClaimChange
    ) -> ClaimOutcome:
        status = {
            "resourceClaimName": held.claim["metadata"]["name"],
            "requestMappings": change.mappings,
        }
        body = {
            "metadata": {"uid": user.uid},
            "status": {"extendedResourceClaimStatus": status},
        }
        path = f"{pod_path(user.namespace, user.name)}/status"
        outcome = await self._send("PATCH", path, body, MERGE_PATCH)
        return held if isinstance(outcome, ClaimWritten) else outcome

    async def _read(self, user: ClaimUser, name: str) -> ClaimOutcome:
        path = _path(user, name)
        return _outcome(await self._client.request("GET", path, timeout_s=BIND_TIMEOUT_S))

    async def _send(self, method: str, path: str, body: Json, content_type: str) -> ClaimOutcome:
        if not self._fence():
            return _FENCED
        answer = await self._client.request(
            method,
            path,
            _QUERY,
            json.dumps(body, separators=(",", ":")).encode(),
            content_type=content_type,
            timeout_s=BIND_TIMEOUT_S,
            may_send=self._fence,
        )
        outcome = _outcome(answer)
        if isinstance(outcome, ClaimWritten) and outcome.claim.get("kind") == "ResourceClaim":
            await self._on_answer(outcome.claim)
        return outcome


def _claims(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{quote(namespace, safe='')}/resourceclaims"


def _path(user: ClaimUser, name: str) -> str:
    return f"{_claims(user.namespace)}/{quote(name, safe='')}"


def _outcome(answer: Response | Failure) -> ClaimOutcome:
    if isinstance(answer, Status):
        return ClaimNotWritten(answer.message, is_gone=answer.code == HTTPStatus.NOT_FOUND)
    if not isinstance(answer, Response):
        return ClaimNotWritten(str(answer), is_unknown=True)
    try:
        document = json.loads(answer.body)
        if isinstance(document["metadata"]["resourceVersion"], str):
            return ClaimWritten(document)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return ClaimNotWritten(_NOT_AN_OBJECT)


def _version(claim: Json) -> Json:
    metadata = claim["metadata"]
    return {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
