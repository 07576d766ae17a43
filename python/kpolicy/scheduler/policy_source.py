"""Where policies come from while the scheduler runs.

Owns the protocol, and its make for files: read now, and tell when it may have changed. Others (a
ConfigMap watched through the API) are further makes of the same protocol. Must not compile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from kpolicy.clock import Clock
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.policy_files import PolicyTexts, never_updates, read_policies
from kpolicy.scheduler.problem import Problem

_log = logging.getLogger(__name__)


class PolicySource(Protocol):
    async def read(self) -> tuple[Source, ...] | Problem:
        """Everything, now; or why it could not be read."""

    async def changed(self) -> None:
        """Until there may be something else to read than was read last."""


class FixedSource:
    """Policies that are given once; no source at all means the shipped default."""

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        self._sources = tuple(sources)

    async def read(self) -> tuple[Source, ...]:
        return self._sources

    async def changed(self) -> None:
        await asyncio.Event().wait()


class FileSource:
    """Files and folders, looked at each second by content: nothing but the content tells whether a
    mounted ConfigMap changed, and a megabyte takes a millisecond."""

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
    """A folder that cannot be read counts as a content of its own, told once."""
    if isinstance(texts, PolicyTexts):
        return texts.digest
    return f"unreadable: {texts}"
