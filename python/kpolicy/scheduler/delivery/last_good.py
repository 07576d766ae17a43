"""The last good policy, kept in a folder or a ConfigMap beyond the life of the process.

Its texts are kept, not its program: another version of kpolicy may read them. They are used at the
start, if the wanted policy cannot be put in force. A damaged copy is never used.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from kpolicy.api_times import api_micro_time
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Status
from kpolicy.policy.yaml.source import Source, Tenant
from kpolicy.regular_files import off_loop, read_file
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.config_maps import OwnConfigMap
from kpolicy.scheduler.delivery.sources import PolicySource
from kpolicy.scheduler.loop.reload import Reloader
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.scheduler.problem_codes import (
    Problem,
)

_log = logging.getLogger(__name__)

_FORMAT: Final = 1
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class LastGood:
    """The last good policy. `hash` is that of the program to which the sources compiled when they
    were kept."""

    hash: str
    sources: tuple[Source, ...]
    since_ns: int


async def start(
    reloader: Reloader, source: PolicySource, stores: tuple[LastGoodStore, ...]
) -> Problem | None:
    """Puts the first policy in force: the policy of the source, or else the last good policy, which
    is logged as an error. Without either, no pod is scheduled."""
    wanted = await reloader.read(source)
    if wanted.problem is None:
        return None
    for store in stores:
        kept = await store.load()
        if isinstance(kept, Problem):
            _log.error("%s", kept.message, extra={"code": kept.code, "hint": kept.hint})
        elif kept is not None:
            problem = await reloader.restore(kept.sources)
            if problem is None:
                _log_restored(wanted.problem, kept)
                return None
            _log.error("what was last good is not any more: %s", problem.message)
    return wanted.problem


async def restore_newer(reloader: Reloader, stores: tuple[LastGoodStore, ...]) -> bool:
    """If the present policy cannot be used, puts the kept policy in force that another replica has
    put in force after ours. Returns False if it could not be read."""
    for store in stores:
        wanted, now = reloader.last.problem, reloader.in_force
        if wanted is None or now is None:
            return True
        kept = await store.load()
        if isinstance(kept, Problem):
            return False
        if kept is None or kept.hash == now.hash or kept.since_ns <= now.since_ns:
            continue
        problem = await reloader.restore(kept.sources)
        if problem is None:
            _log_restored(wanted, kept)
        else:
            _log.error("what was last good is not any more: %s", problem.message)
    return True


def _log_restored(problem: Problem, kept: LastGood) -> None:
    fields = {"code": problem.code, "hint": problem.hint, "policy_hash": kept.hash}
    since = api_micro_time(kept.since_ns)
    text = "%s; THE LAST GOOD POLICY IS IN FORCE INSTEAD, which was put in force at %s"
    _log.error(text, problem.message, since, extra=fields)


# --- bytes: a checksum, then compressed: a line of JSON, and the texts one after the other -------


def encoded(kept: LastGood) -> bytes | Problem:
    texts = [source.encoded for source in kept.sources]
    header = {
        "format": _FORMAT,
        "hash": kept.hash,
        "sinceNs": kept.since_ns,
        "sources": [
            [source.name, len(text), source.is_named, source.is_for_params, *_tenant(source)]
            for source, text in zip(kept.sources, texts, strict=True)
        ],
    }
    whole = json.dumps(header, separators=(",", ":")).encode() + b"\n" + b"".join(texts)
    packed = sha256(whole).digest() + zlib.compress(whole, 9)
    if len(packed) > limits.LAST_GOOD_BYTES_MAX or len(whole) > limits.LAST_GOOD_TEXT_BYTES_MAX:
        message = f"the policy is too large to be kept as the last good one: {len(packed):,} bytes"
        return _unusable(message, f"at most {limits.LAST_GOOD_BYTES_MAX:,} once compressed")
    return packed


def decoded(packed: bytes, where: str) -> LastGood | Problem:
    opener = zlib.decompressobj()
    try:
        whole = opener.decompress(packed[_DIGEST_BYTES:], limits.LAST_GOOD_TEXT_BYTES_MAX)
        if not opener.eof or sha256(whole).digest() != packed[:_DIGEST_BYTES]:
            return _damaged(where)
        line, _, rest = whole.partition(b"\n")
        header: Mapping[str, Any] = json.loads(line)
        if header["format"] != _FORMAT:
            return _damaged(where)
        sources, start = [], 0
        for name, size, is_named, is_for_params, *of in header["sources"]:
            text, tenant = rest[start : start + size], Tenant(of[0], tuple(of[1])) if of else None
            sources.append(Source(name, text, is_named, is_for_params, tenant))
            start += size
        return LastGood(str(header["hash"]), tuple(sources), int(header["sinceNs"]))
    except (zlib.error, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return _damaged(where)


def _tenant(source: Source) -> tuple[object, ...]:
    """Nothing for the operator's sources, so that earlier versions can read them."""
    tenant = source.tenant
    return (tenant.name, list(tenant.namespaces)) if tenant is not None else ()


def _damaged(where: str) -> Problem:
    message = f"what was kept as the last good policy in {where} is damaged, or of another version"
    return _unusable(message, "it is replaced when a policy comes into force")


_FILE: Final = "last-good.policy"
_KEY: Final = "last-good"


class LastGoodStore(ABC):
    """`where` is the place of the store, for messages."""

    where: str

    async def load(self) -> LastGood | Problem | None:
        """The copy that was kept, None if there is none, or why it cannot be read."""
        packed = await self._read()
        if not isinstance(packed, bytes):
            return packed
        return await asyncio.to_thread(decoded, packed, self.where)

    async def save(self, kept: LastGood) -> Problem | None:
        """Replaces the kept copy. Returns why it could not be written, if so."""
        packed = await asyncio.to_thread(encoded, kept)
        return packed if isinstance(packed, Problem) else await self._write(packed)

    @abstractmethod
    async def _read(self) -> bytes | Problem | None: ...

    @abstractmethod
    async def _write(self, packed: bytes) -> Problem | None: ...


class FolderStore(LastGoodStore):
    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self.where = str(self._path)

    async def _read(self) -> bytes | Problem | None:
        try:
            return await off_loop(self._read_file)
        except TimeoutError as error:
            return _unusable(f"{self.where} was {error.strerror}")

    async def _write(self, packed: bytes) -> Problem | None:
        return await asyncio.to_thread(self._write_file, packed)

    def _read_file(self) -> bytes | Problem | None:
        try:
            return read_file(self._path, limits.LAST_GOOD_BYTES_MAX)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _unusable(f"cannot read {self.where}: {error.strerror or error}")

    def _write_file(self, packed: bytes) -> Problem | None:
        """Writes the whole file or nothing, also if the machine stops meanwhile."""
        beside = self._path.with_name(f"{_FILE}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
        except OSError as error:
            return _unusable(f"cannot write {self.where}: {error.strerror or error}")
        return None


class ConfigMapStore(LastGoodStore):
    """Keeps the copy in `binaryData` of a ConfigMap of kpolicy. The key has its own field manager,
    so that keys that others write into this ConfigMap stay."""

    def __init__(self, name: ConfigMapName, client: ApiClient) -> None:
        self._client = client
        self._own = OwnConfigMap(name, client, manager="kpolicy-last-good")
        self.where = f"the {name.shown}"

    async def _read(self) -> bytes | Problem | None:
        answer = await self._client.request("GET", self._own.name.path)
        if isinstance(answer, Status) and answer.code == 404:
            return None
        if not isinstance(answer, Response):
            return _unusable(f"cannot read {self.where}: {answer}")
        try:
            held = (json.loads(answer.body).get("binaryData") or {}).get(_KEY)
            return base64.b64decode(held, validate=True) if held is not None else None
        except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
            return b""  # a damaged copy is detected when it is unpacked

    async def _write(self, packed: bytes) -> Problem | None:
        failure = await self._own.apply({"binaryData": {_KEY: base64.b64encode(packed).decode()}})
        if failure is None:
            return None
        return _unusable(f"cannot write {self.where}: {failure}", _RIGHTS)


_RIGHTS: Final = "allow `get`, `create` and `patch` on it by name, or see --policy-status"


def _unusable(message: str, hint: str = "") -> Problem:
    return Problem("KPS105", message, hint)
