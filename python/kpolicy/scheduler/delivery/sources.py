"""Where policies come from: files and folders, or a ConfigMap, with the ConfigMaps they name.

A source reads everything at once, and tells when it may have changed. It does not compile.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock, Pulse, first_of
from kpolicy.policy.assembly.params import wanted_config_maps
from kpolicy.policy.yaml.source import Source
from kpolicy.regular_files import read_file
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.config_maps import ConfigMapWatches, HeldConfigMap
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.scheduler.problem_codes import Problem

_log = logging.getLogger(__name__)


class PolicySource(Protocol):
    async def read(self) -> tuple[Source, ...] | Problem:
        """All policies as they are now, or why they could not be read."""

    async def changed(self) -> None:
        """Returns when the policies may differ from those that were read last."""


async def follow(
    source: PolicySource,
    read: Callable[[PolicySource], Awaitable[object]],
    clock: Clock,
    pulse: Pulse,
) -> None:
    """Reads the source whenever it may have changed: at once, or a short time after the last
    reading."""
    while True:
        pulse.rest(lambda: False)
        await source.changed()
        pulse.beat()
        began_ns = clock.monotonic_ns()
        await read(source)
        took_s = (clock.monotonic_ns() - began_ns) / NANOSECONDS
        await clock.sleep(max(0.0, limits.POLICY_PERIOD_S_MIN - took_s))


class FixedSource:
    """Policies that never change. Without a source, this is the shipped default policy."""

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        self._sources = tuple(sources)

    async def read(self) -> tuple[Source, ...]:
        return self._sources

    async def changed(self) -> None:
        await asyncio.Event().wait()


class FileSource:
    """Files and folders, read each second: only its content shows whether a mounted ConfigMap
    changed, and reading a megabyte takes a millisecond."""

    def __init__(self, paths: Sequence[Path], clock: Clock) -> None:
        self._paths = tuple(paths)
        self._clock = clock
        self._digest = ""
        for path in self._paths:
            if never_updates(path):
                _log.warning(
                    "%s is mounted by subPath and will never be updated; mount the folder",
                    path,
                    extra={"code": "KP142"},
                )

    async def read(self) -> tuple[Source, ...] | Problem:
        texts = await asyncio.to_thread(read_policies, self._paths)
        self._digest = digest_of(texts)
        return texts.sources if isinstance(texts, PolicyTexts) else texts

    async def changed(self) -> None:
        while True:
            await self._clock.sleep(limits.POLICY_POLL_S)
            digest = await self._look()
            if digest == self._digest:
                continue
            # Editors and kubelet write several files in a row: wait until they rest.
            for _ in range(limits.POLICY_READ_TRIES_MAX):
                await self._clock.sleep(limits.POLICY_DEBOUNCE_S)
                before, digest = digest, await self._look()
                if digest == before:
                    break
            if digest != self._digest:
                return

    async def _look(self) -> str:
        return digest_of(await asyncio.to_thread(read_policies, self._paths))


def digest_of(texts: PolicyTexts | Problem) -> str:
    """The digest of all files. A folder that cannot be read has its own digest, so that this is
    reported once."""
    return texts.digest if isinstance(texts, PolicyTexts) else f"unreadable: {texts}"


# The same suffixes count in folders and in ConfigMaps; other files and keys may be params or notes.
SUFFIXES: Final = (".yaml", ".yml", ".json", ".cfg")
_DATA_LINK = "..data"


@dataclass(frozen=True, slots=True)
class PolicyTexts:
    """`digest` covers names and contents: two folders with the same files are the same."""

    sources: tuple[Source, ...]
    digest: str


def read_policies(paths: Sequence[Path]) -> PolicyTexts | Problem:
    """All policies of these paths, or why one of them could not be read."""
    for _ in range(limits.POLICY_READ_TRIES_MAX):
        links = [_link(path) for path in paths]
        read = _read_once(paths)
        if links == [_link(path) for path in paths]:
            return read
    return _problem(str(paths[0]), "the files kept changing while they were read", "")


def never_updates(path: Path) -> bool:
    """Whether the file never changes: a single file mounted into a pod (`subPath`) keeps its first
    content."""
    return path.is_file() and os.path.ismount(path) and not (path.parent / _DATA_LINK).exists()


def _read_once(paths: Sequence[Path]) -> PolicyTexts | Problem:
    files: list[_File] = []
    for path in paths:
        found = _files_of(path)
        if isinstance(found, Problem):
            return found
        files += found
    if len(files) > limits.POLICY_FILES_MAX:
        text = f"{len(files)} policy files are more than the {limits.POLICY_FILES_MAX} allowed"
        return _problem(str(paths[0]), text, "name the files that are meant")
    digest = hashlib.sha256()
    sources = []
    for file in files:
        content = _content(file)
        if isinstance(content, Problem):
            return content
        sources.append(Source(file.name, content, file.is_named))
        for part in (file.name.encode("utf-8", "surrogateescape"), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return PolicyTexts(tuple(sources), digest.hexdigest())


@dataclass(frozen=True, slots=True)
class _File:
    """`name` is printed, `path` is read. `is_named`: the user named the file; it was not found in a
    folder."""

    name: str
    path: Path
    is_named: bool


def _files_of(path: Path) -> list[_File] | Problem:
    """In the order of names. Names with a leading dot belong to a mounted volume, or are hidden."""
    try:
        if not path.is_dir():
            return [_File(str(path), path, is_named=True)]
        folder = path / _DATA_LINK
        inside = folder.resolve() if folder.is_symlink() else path
        found = (file.relative_to(inside) for file in inside.rglob("*") if file.is_file())
        names = sorted(
            name
            for name in found
            if name.suffix in SUFFIXES and not any(part.startswith(".") for part in name.parts)
        )
    except OSError as error:
        return _unreadable(str(path), error)
    if not names:
        text = "the folder holds no policy (.yaml, .yml, .json or .cfg)"
        return _problem(str(path), text, "check --policy")
    return [_File(str(path / name), inside / name, is_named=False) for name in names]


def _content(file: _File) -> bytes | Problem:
    try:
        content = read_file(file.path, limits.POLICY_FILE_BYTES_MAX)
    except OSError as error:
        return _unreadable(file.name, error)
    if len(content) > limits.POLICY_FILE_BYTES_MAX:
        text = f"larger than {limits.POLICY_FILE_BYTES_MAX} bytes"
        return _problem(file.name, text, "a ConfigMap could not hold it either; split it")
    return content


def _link(path: Path) -> str:
    """The target of the link of a mounted ConfigMap; empty elsewhere."""
    try:
        return str((path / _DATA_LINK).readlink())
    except OSError:
        return ""


def _unreadable(name: str, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return _problem(name, "there is no such file or folder", "check --policy")
    if isinstance(error, TimeoutError) or error.errno == errno.EINVAL:
        return _problem(name, error.strerror or str(error), "name a file on a disk that answers")
    return _problem(name, error.strerror or str(error), "check the file's permissions")


def _problem(name: str, text: str, hint: str) -> Problem:
    return Problem("KPS101", f"cannot read policy {name}: {text}", hint)


class ConfigMapSource:
    def __init__(self, name: ConfigMapName, watches: ConfigMapWatches) -> None:
        self.name = name
        self._watches = watches
        self._whole = ConfigMapName(name.namespace, name.name)
        self._seen = {self._whole: ""}

    async def read(self) -> tuple[Source, ...] | Problem:
        held = await self._watches.held(self.name)
        self._seen = self._watches.digests([self._whole])
        if isinstance(held, Problem):
            return held
        if held is None:
            message = f"there is no {self.name.shown}"
            return Problem("KPS101", message, "create it, or check --policy-configmap")
        return policies_of(held, self.name.key)

    async def changed(self) -> None:
        await self._watches.differ(self._seen)


def policies_of(held: HeldConfigMap, key: str) -> tuple[Source, ...] | Problem:
    """A source for each key, so that a finding has the line in the text of its key."""
    shown = held.name.shown
    keys = [key] if key else sorted(name for name in held.data if name.endswith(SUFFIXES))
    if key and key not in held.data:
        has = ", ".join(sorted(held.data)) or "none"
        return Problem("KPS101", f"the {shown} has no key `{key}`", f"it has: {has}")
    if not keys:
        hint = "end the name of a key in .yaml, .yml, .json or .cfg, or name it as NS/NAME#KEY"
        return Problem("KPS101", f"the {shown} carries no policy", hint)
    place = f"configmap/{held.name.namespace}/{held.name.name}"
    return tuple(Source(f"{place}/{name}", held.data[name], is_named=bool(key)) for name in keys)


class WithConfigMaps:
    """A source of policies, together with the ConfigMaps that they name."""

    def __init__(self, policies: PolicySource, watches: ConfigMapWatches, clock: Clock) -> None:
        self._policies = policies
        self._watches = watches
        self._clock = clock
        self._seen: dict[ConfigMapName, str] = {}
        self._is_unread = False

    async def read(self) -> tuple[Source, ...] | Problem:
        sources = await self._policies.read()
        # A source reports when a policy that is missing may be readable, but not when access is
        # granted.
        self._is_unread = isinstance(sources, Problem) and sources.code != "KPS101"
        if isinstance(sources, Problem):
            return sources
        # The compiler reports ConfigMaps that do not exist.
        wanted = await asyncio.to_thread(wanted_config_maps, sources)
        names = [ConfigMapName(wanted_map.namespace, wanted_map.name) for wanted_map in wanted]
        found: list[Source] = []
        for name in names:
            held = await self._watches.held(name)
            if isinstance(held, Problem):
                self._is_unread = True
                message = f"a policy takes params from the {name.shown}: {held.message}"
                return Problem("KPS101", message, held.hint)
            found += [_manifest(held)] if held is not None else []
        self._seen = self._watches.digests(names)
        return (*sources, *found)

    @property
    def names(self) -> frozenset[ConfigMapName]:
        """The ConfigMaps that the policies named when they were last read."""
        return frozenset(self._seen)

    async def changed(self) -> None:
        works: list[Coroutine[Any, Any, None]] = [self._policies.changed()]
        if self._seen:
            works.append(self._watches.differ(self._seen))
        if self._is_unread:  # no event shows that the ConfigMap can be read by now
            works.append(self._clock.sleep(limits.POLICY_RETRY_S))
        await first_of(*works)

    def of(self, sources: Sequence[Source]) -> WithConfigMaps:
        """A source of these policies, with the ConfigMaps that they name."""
        return WithConfigMaps(FixedSource(sources), self._watches, self._clock)


def _manifest(held: HeldConfigMap) -> Source:
    """The ConfigMap as a manifest, so that a mistake in it has a line."""
    name = held.name
    metadata = {"name": name.name, "namespace": name.namespace}
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": dict(sorted(held.data.items())),
    }
    return Source(name.shown, json.dumps(manifest, indent=1), is_for_params=True)
