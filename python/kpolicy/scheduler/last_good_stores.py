"""Where the last good policy is kept: a folder, or a ConfigMap of our own.

Owns both ways. A folder serves one replica, and lives as long as its volume; a ConfigMap serves all
of them, also after the pods are gone. Must not know what is kept.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
from pathlib import Path
from typing import Final

from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Status
from kpolicy.scheduler import limits
from kpolicy.scheduler.config_map_name import ConfigMapName
from kpolicy.scheduler.last_good import LastGood, decoded, encoded
from kpolicy.scheduler.own_config_map import OwnConfigMap
from kpolicy.scheduler.problem import LAST_GOOD_UNUSABLE, Problem

_FILE: Final = "last-good.policy"
_KEY: Final = "last-good"
_NOT_FOUND: Final = 404


class FolderStore:
    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    async def load(self) -> LastGood | Problem | None:
        return await asyncio.to_thread(self._load)

    async def save(self, kept: LastGood) -> Problem | None:
        packed = await asyncio.to_thread(encoded, kept)
        if isinstance(packed, Problem):
            return packed
        return await asyncio.to_thread(self._save, packed)

    def _load(self) -> LastGood | Problem | None:
        try:
            with self._path.open("rb") as file:
                packed = file.read(limits.LAST_GOOD_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _unusable(f"cannot read {self._path}: {error.strerror or error}")
        return decoded(packed, str(self._path))

    def _save(self, packed: bytes) -> Problem | None:
        """Whole or not at all, also when the machine stops in between."""
        beside = self._path.with_name(f"{_FILE}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
        except OSError as error:
            return _unusable(f"cannot write {self._path}: {error.strerror or error}")
        return None


class ConfigMapStore:
    """In `binaryData` of a ConfigMap of ours; the key has a field manager of its own, so that
    what others write into that ConfigMap stays."""

    def __init__(self, name: ConfigMapName, client: ApiClient) -> None:
        self._name = name
        self._client = client
        self._own = OwnConfigMap(name, client, manager="kpolicy-last-good")

    async def load(self) -> LastGood | Problem | None:
        answer = await self._client.request("GET", self._name.path)
        if isinstance(answer, Status) and answer.code == _NOT_FOUND:
            return None
        if not isinstance(answer, Response):
            return _unusable(f"cannot read the {self._name.shown}: {answer}")
        try:
            held = (json.loads(answer.body).get("binaryData") or {}).get(_KEY)
            packed = base64.b64decode(held, validate=True) if held is not None else None
        except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
            packed = b""
        if packed is None:
            return None
        return await asyncio.to_thread(decoded, packed, f"the {self._name.shown}")

    async def save(self, kept: LastGood) -> Problem | None:
        packed = await asyncio.to_thread(encoded, kept)
        if isinstance(packed, Problem):
            return packed
        failure = await self._own.apply({"binaryData": {_KEY: base64.b64encode(packed).decode()}})
        if failure is None:
            return None
        return _unusable(f"cannot write the {self._name.shown}: {failure}", _RIGHTS)


_RIGHTS: Final = "allow `get`, `create` and `patch` on it by name, or see --policy-status"


def _unusable(message: str, hint: str = "") -> Problem:
    return Problem(LAST_GOOD_UNUSABLE, message, hint)
