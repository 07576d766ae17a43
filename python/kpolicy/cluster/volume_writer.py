"""Write what a pod's volumes need, and know what came of it.

Owns the requests, their retries, the reading of an object that changed meanwhile, and how many are
under way. The local fence is asked before every single send. Must not know pods or reservations.

A patch that was sent and never answered may be given up: it names the version of the object that
it was made for, so that it changes nothing any more once anybody wrote the object. Until then it
may say late what was wanted, which the watch tells.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kpolicy.clock import Clock
from kpolicy.cluster.api import MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.doubt import server_timeout
from kpolicy.cluster.failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.limits import (
    BIND_TIMEOUT_S,
    VOLUME_WRITE_RETRY_S,
    VOLUME_WRITE_TRIES_MAX,
    VOLUME_WRITES_IN_FLIGHT_MAX,
)
from kpolicy.cluster.volume_patches import VolumePatch

_CONFLICT = 409
_QUERY = {"timeout": server_timeout(BIND_TIMEOUT_S)}
_NOT_AN_OBJECT = "the answer is not an object of the API"


@dataclass(frozen=True, slots=True)
class Written:
    """It says so now: `version` is the first that does, as far as we know."""

    version: str


@dataclass(frozen=True, slots=True)
class NotWritten:
    message: str


@dataclass(frozen=True, slots=True)
class WriteFenced:
    """Not sent: we may no longer be the leader."""


WriteOutcome: TypeAlias = Written | NotWritten | WriteFenced


class VolumeWriter:
    """`fence` is true while we may act; without leader election, always."""

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
            )
            if isinstance(answer, Response):
                version = _version(answer.body)
                return NotWritten(_NOT_AN_OBJECT) if version is None else Written(version)
            message = _message(answer)
            if _is_final(answer):
                return NotWritten(message)
            if not (isinstance(answer, Status) and answer.code == _CONFLICT):
                await self._clock.sleep(VOLUME_WRITE_RETRY_S * 2**attempt)
            now = await self._read(patch)
            if now is None:
                return NotWritten(message)
            if isinstance(now, str):
                return Written(now)
            patch = now
        return NotWritten(message)

    async def _read(self, patch: VolumePatch) -> str | VolumePatch | None:
        """What `patch.seen` makes of the object now; the patch itself where nobody can tell."""
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
        return failure.code != _CONFLICT and not failure.transient
    return isinstance(failure, Unreachable) and failure.cause in {Cause.CREDENTIALS, Cause.CLOSED}


def _message(failure: Failure) -> str:
    """As kube-scheduler tells it: the API server's own words."""
    return failure.message if isinstance(failure, Status) else str(failure)


def _version(body: bytes) -> str | None:
    try:
        return str(json.loads(body)["metadata"]["resourceVersion"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
