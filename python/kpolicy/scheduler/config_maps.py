"""ConfigMaps of the cluster that policies take params from, read with the policies.

Owns which are asked for (those that `paramsFrom` names and that are not among the files), that they
are watched as long as a policy names them, and what it means when one cannot be read. Must not know
what a param is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any

from kpolicy.clock import Clock
from kpolicy.policy.assembly.params import wanted_config_maps
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.config_map_name import ConfigMapName
from kpolicy.scheduler.config_map_sink import HeldConfigMap
from kpolicy.scheduler.config_map_watches import ConfigMapWatches
from kpolicy.scheduler.policy_source import FixedSource, PolicySource
from kpolicy.scheduler.problem import POLICY_UNREADABLE, Problem


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
        # Of the policies themselves, a source tells when they may be readable; of access, nothing.
        self._is_unread = isinstance(sources, Problem) and sources.code != POLICY_UNREADABLE
        if isinstance(sources, Problem):
            return sources
        # What is not there is left for the compiler to tell.
        wanted = await asyncio.to_thread(wanted_config_maps, sources)
        names = [ConfigMapName(one.namespace, one.name) for one in wanted]
        found: list[Source] = []
        for name in names:
            held = await self._watches.held(name)
            if isinstance(held, Problem):
                self._is_unread = True
                message = f"a policy takes params from the {name.shown}: {held.message}"
                return Problem(POLICY_UNREADABLE, message, held.hint)
            found += [_manifest(held)] if held is not None else []
        self._seen = self._watches.digests(names)
        return (*sources, *found)

    @property
    def names(self) -> frozenset[ConfigMapName]:
        """Those that the policies named when they were read last."""
        return frozenset(self._seen)

    async def changed(self) -> None:
        works: list[Coroutine[Any, Any, None]] = [self._policies.changed()]
        if self._seen:
            works.append(self._watches.differ(self._seen))
        if self._is_unread:  # nothing else would tell that it can be read by now
            works.append(self._clock.sleep(limits.POLICY_RETRY_S))
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()

    def of(self, sources: Sequence[Source]) -> WithConfigMaps:
        """The same of other policies."""
        return WithConfigMaps(FixedSource(sources), self._watches, self._clock)


def _manifest(held: HeldConfigMap) -> Source:
    """As it would be written, so that what is wrong in it has a line."""
    name = held.name
    metadata = {"name": name.name, "namespace": name.namespace}
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": dict(sorted(held.data.items())),
    }
    return Source(name.shown, json.dumps(manifest, indent=1), is_for_params=True)
