"""Writes volumes and claims before a pod is bound.

Each patch holds for one object (its uid) at the version that was read (its resourceVersion). After
a conflict or a lost answer the object is read again. The local fence is asked before every request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import quote

from kpolicy.clock import Clock
from kpolicy.cluster.api import MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import (
    BIND_TIMEOUT_S,
    VOLUME_WRITE_RETRY_S,
    VOLUME_WRITE_TRIES_MAX,
    VOLUME_WRITES_IN_FLIGHT_MAX,
)
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.writes.conventions import server_timeout

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"

_FREE_PHASES: Final = frozenset({"", "Pending", "Available"})


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """An object at the version that was read last."""

    name: str
    uid: str
    version: str


class VolumePatch(Protocol):
    """One write. `seen` reads the object after a conflict or a lost response.

    It returns the version that contains our change, or the patch to send now, or None if the object
    may no longer be changed by us.
    """

    @property
    def path(self) -> str: ...
    def body(self) -> bytes: ...
    def seen(self, document: dict[str, Any]) -> str | VolumePatch | None: ...


@dataclass(frozen=True, slots=True)
class BindVolume:
    """Sets the claim of a volume. With `mark`, also notes that a controller bound it, not a
    user."""

    volume: ObjectVersion
    namespace: str
    claim: ObjectVersion
    mark: bool

    @property
    def path(self) -> str:
        return f"/api/v1/persistentvolumes/{quote(self.volume.name, safe='')}"

    def body(self) -> bytes:
        metadata = _metadata(self.volume)
        if self.mark:
            metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": self.namespace,
            "name": self.claim.name,
            "uid": self.claim.uid,
            "resourceVersion": self.claim.version,
        }
        return _json({"metadata": metadata, "spec": {"claimRef": reference}})

    def seen(self, document: dict[str, Any]) -> str | VolumePatch | None:
        if (now := _seen(self.volume, document)) is None:
            return None
        if (held := document.get("spec", {}).get("claimRef")) is None:
            is_free = document.get("status", {}).get("phase", "") in _FREE_PHASES
            return replace(self, volume=now) if is_free else None
        if (held.get("namespace"), held.get("name")) != (self.namespace, self.claim.name):
            return None
        if held.get("uid") == self.claim.uid:
            return now.version
        return None if held.get("uid") else replace(self, volume=now)


@dataclass(frozen=True, slots=True)
class SelectNode:
    """Sets the node on which a claim is to be provisioned."""

    namespace: str
    claim: ObjectVersion
    node: str

    @property
    def path(self) -> str:
        namespace = quote(self.namespace, safe="")
        name = quote(self.claim.name, safe="")
        return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"

    def body(self) -> bytes:
        metadata = _metadata(self.claim)
        metadata["annotations"] = {SELECTED_NODE: self.node}
        return _json({"metadata": metadata})

    def seen(self, document: dict[str, Any]) -> str | VolumePatch | None:
        if (now := _seen(self.claim, document)) is None:
            return None
        selected = (document["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if selected == self.node:
            return now.version
        is_free = selected is None and not document.get("spec", {}).get("volumeName")
        return replace(self, claim=now) if is_free else None


def _metadata(read: ObjectVersion) -> dict[str, Any]:
    return {"uid": read.uid, "resourceVersion": read.version}


def _seen(read: ObjectVersion, document: dict[str, Any]) -> ObjectVersion | None:
    """Return the version of the object now; None if it is another one, or is being deleted."""
    metadata = document["metadata"]
    if metadata.get("uid") != read.uid or metadata.get("deletionTimestamp"):
        return None
    return replace(read, version=str(metadata["resourceVersion"]))


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


_QUERY = {"timeout": server_timeout(BIND_TIMEOUT_S)}
_NOT_AN_OBJECT = "the answer is not an object of the API"


@dataclass(frozen=True, slots=True)
class Written:
    """Written; `version` is the first known version with our change."""

    version: str


@dataclass(frozen=True, slots=True)
class NotWritten:
    message: str


@dataclass(frozen=True, slots=True)
class WriteFenced:
    """Not sent: we may no longer be the leader."""


WriteOutcome: TypeAlias = Written | NotWritten | WriteFenced


class VolumeWriter:
    """`fence` is True while we may act as leader; always, without leader election."""

    def __init__(
        self, client: ApiClient, clock: Clock, fence: Callable[[], bool] = lambda: True
    ) -> None:
        self._client = client
        self._clock = clock
        self._fence = fence
        self._window = asyncio.Semaphore(VOLUME_WRITES_IN_FLIGHT_MAX)

    async def write(self, patch: VolumePatch) -> WriteOutcome:
        async with self._window:
            return await self._write(patch)

    async def _write(self, patch: VolumePatch) -> WriteOutcome:
        message = ""
        for attempt in range(VOLUME_WRITE_TRIES_MAX):
            if not self._fence():
                return WriteFenced()
            answer = await self._client.request(
                "PATCH",
                patch.path,
                _QUERY,
                patch.body(),
                content_type=MERGE_PATCH,
                timeout_s=BIND_TIMEOUT_S,
                may_send=self._fence,
            )
            if isinstance(answer, Response):
                version = _version(answer.body)
                return NotWritten(_NOT_AN_OBJECT) if version is None else Written(version)
            # the API server's own message, as kube-scheduler shows it
            message = answer.message if isinstance(answer, Status) else str(answer)
            if _is_final(answer):
                return NotWritten(message)
            if not (isinstance(answer, Status) and answer.code == 409):
                await self._clock.sleep(VOLUME_WRITE_RETRY_S * 2**attempt)
            if (now := await self._read(patch)) is None:
                return NotWritten(message)
            if isinstance(now, str):
                return Written(now)
            patch = now
        return NotWritten(message)

    async def _read(self, patch: VolumePatch) -> str | VolumePatch | None:
        """Return what `patch.seen` makes of the object now; the patch itself if it could not be
        read."""
        answer = await self._client.request("GET", patch.path, timeout_s=BIND_TIMEOUT_S)
        if not isinstance(answer, Response):
            return None if _is_final(answer) else patch
        try:
            return patch.seen(json.loads(answer.body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


def _is_final(failure: Failure) -> bool:
    """Whether it was not written, and another try would not help."""
    if isinstance(failure, Status):
        return failure.code != 409 and not failure.transient
    return isinstance(failure, Unreachable) and failure.cause in {Cause.CREDENTIALS, Cause.CLOSED}


def _version(body: bytes) -> str | None:
    try:
        return str(json.loads(body)["metadata"]["resourceVersion"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
