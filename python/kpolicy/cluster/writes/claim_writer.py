"""Writes claims on devices before a pod is bound: allocated, and reserved for the pod.

As in kube-scheduler, the finalizer is written before the allocation, so that an allocated claim
does not vanish. Each patch holds for one object (its uid) at the version that was read (its
resourceVersion); after a conflict or a lost answer the object is read again. The local fence is
asked before every request.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from kpolicy.clock import NANOSECONDS, Clock, api_time
from kpolicy.cluster.api import MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import (
    BIND_TIMEOUT_S,
    CLAIM_LOOK_S,
    VOLUME_WRITE_RETRY_S,
    VOLUME_WRITE_TRIES_MAX,
    VOLUME_WRITES_IN_FLIGHT_MAX,
)
from kpolicy.cluster.request_failure import Failure, Status
from kpolicy.cluster.writes.conventions import pod_path, server_timeout

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
EXTENDED: Final = "resource.kubernetes.io/extended-resource-claim"

Json: TypeAlias = dict[str, Any]
_QUERY: Final = {"timeout": server_timeout(BIND_TIMEOUT_S)}
_NOT_AN_OBJECT: Final = "the answer is not an object of the API"


@dataclass(frozen=True, slots=True)
class ClaimUser:
    """The pod that a claim is for."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """What has to be true of a claim. `allocation`: None if it is allocated already. `requests` and
    `mappings` are those of a claim that has to be made for extended resources; its name is empty
    then."""

    name: str
    uid: str
    allocation: Json | None
    requests: list[Json]
    mappings: list[Json]


@dataclass(frozen=True, slots=True)
class ClaimWritten:
    """The claim as it stands now."""

    claim: Json


@dataclass(frozen=True, slots=True)
class ClaimNotWritten:
    """`is_fenced`: not sent, because we may no longer be the leader."""

    message: str
    is_fenced: bool = False


ClaimOutcome: TypeAlias = ClaimWritten | ClaimNotWritten
_FENCED: Final = ClaimNotWritten("", is_fenced=True)


class ClaimWriter:
    """`fence` is True while we may act as leader; always, without leader election."""

    def __init__(
        self, client: ApiClient, clock: Clock, fence: Callable[[], bool] = lambda: True
    ) -> None:
        self._client = client
        self._clock = clock
        self._fence = fence
        self._window = asyncio.Semaphore(VOLUME_WRITES_IN_FLIGHT_MAX)

    async def write(self, user: ClaimUser, change: ClaimChange) -> ClaimOutcome:
        """Allocates a claim, if it has to be, and reserves it for the pod."""
        async with self._window:
            if change.name:
                return await self._hold(user, change.name, change)
            made = await self._make(user, change)
            if isinstance(made, ClaimNotWritten):
                return made
            held = await self._hold(user, made.claim["metadata"]["name"], change)
            if isinstance(held, ClaimWritten):
                return await self._tell_pod(user, held, change)
            return held

    async def ready(self, user: ClaimUser, name: str, seconds_max: int) -> str:
        """Waits until drivers have made the claim's devices ready. Returns why they did not, or an
        empty text."""
        began = api_time(self._clock.now_ns())
        while True:
            read = await self._read(user, name)
            if isinstance(read, ClaimNotWritten):
                return read.message
            problem, is_ready = _readiness(read.claim)
            if problem or is_ready:
                return problem
            allocation = read.claim["status"].get("allocation") or {}
            since = allocation.get("allocationTimestamp") or began
            now_ns = self._clock.now_ns()
            if api_time(now_ns - seconds_max * NANOSECONDS) > since:
                return f"claim {user.namespace}/{name} binding timeout"
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

    async def _hold(self, user: ClaimUser, name: str, change: ClaimChange) -> ClaimOutcome:
        outcome: ClaimOutcome = ClaimNotWritten("")
        for attempt in range(VOLUME_WRITE_TRIES_MAX):
            read = await self._read(user, name)
            if isinstance(read, ClaimNotWritten):
                return read
            claim = read.claim
            if problem := _problem(claim, user, change):
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
        path = f"{_claims(user.namespace)}/{quote(name, safe='')}"
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
                **_with_share_ids(change.allocation),
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
        path = f"{_claims(user.namespace)}/{quote(name, safe='')}"
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
        return _outcome(answer)


def _claims(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{quote(namespace, safe='')}/resourceclaims"


def _outcome(answer: Response | Failure) -> ClaimOutcome:
    if not isinstance(answer, Response):
        return ClaimNotWritten(answer.message if isinstance(answer, Status) else str(answer))
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


def _problem(claim: Json, user: ClaimUser, change: ClaimChange) -> str:
    """Why the claim cannot be had; empty if it can."""
    metadata, status = claim["metadata"], claim.get("status") or {}
    key = f"{user.namespace}/{metadata['name']}"
    if change.uid and metadata.get("uid") != change.uid:
        return f"claim {key} got replaced in the meantime"
    if metadata.get("deletionTimestamp"):
        return f"claim {key} got deleted in the meantime"
    is_ours = any(own.get("uid") == user.uid for own in status.get("reservedFor") or ())
    if change.allocation is not None and status.get("allocation") and not is_ours:
        return f"claim {key} got allocated elsewhere in the meantime"
    if change.allocation is None and not status.get("allocation"):
        return f"claim {key} got deallocated elsewhere in the meantime"
    return ""


def _with_share_ids(allocation: Json) -> Json:
    """Each share of a device gets an id of its own."""
    results = [
        {**result, "shareID": str(uuid.uuid4())} if "shareID" in result else result
        for result in allocation["devices"].get("results", ())
    ]
    return {**allocation, "devices": {**allocation["devices"], "results": results}}


def _readiness(claim: Json) -> tuple[str, bool]:
    """Why the devices of a claim will not be ready, and whether they are."""
    status = claim.get("status") or {}
    key = f"{claim['metadata'].get('namespace')}/{claim['metadata']['name']}"
    for device, conditions in _conditions(status):
        is_true = {own["type"] for own in conditions if own.get("status") == "True"}
        failed = sorted(is_true & set(device.get("bindingFailureConditions") or ()))
        if failed:
            return f"claim {key} binding failed: {', '.join(failed)}", False
        if not set(device["bindingConditions"]) <= is_true:
            return "", False
    return "", True


def _conditions(status: Json) -> Iterator[tuple[Json, list[Json]]]:
    """The devices that drivers have to make ready, with the conditions that they report."""
    allocation = status.get("allocation") or {}
    reported = status.get("devices") or ()
    for device in (allocation.get("devices") or {}).get("results") or ():
        if device.get("bindingConditions"):
            own: Json = next((each for each in reported if _is_of(each, device)), {})
            yield device, list(own.get("conditions") or ())


def _is_of(reported: Json, device: Json) -> bool:
    parts = ("driver", "pool", "device", "shareID")
    return all(reported.get(part) == device.get(part) for part in parts)
