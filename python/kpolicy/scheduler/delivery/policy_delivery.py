"""How policies reach the scheduler, and how it tells what became of them: all of it, wired.

Owns the source, the watched ConfigMaps, the stores of what was last good and the report, and which
watches are still needed. Assumes the reloader that puts policies in force. Must not compile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.patience import Patience
from kpolicy.cluster.writes.event_recorder import EventRecorder
from kpolicy.heartbeat import Heartbeats, Pulse
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.config_maps import ConfigMapWatches, OwnConfigMap
from kpolicy.scheduler.delivery.last_good import ConfigMapStore, FolderStore, start
from kpolicy.scheduler.delivery.policy_report import PolicyReport, diagnostics, in_force, refused
from kpolicy.scheduler.delivery.sources import ConfigMapSource, PolicySource, WithConfigMaps
from kpolicy.scheduler.loop.reload import Reloaded, Reloader
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.scheduler.problem_codes import Problem

# A ConfigMap is named beforehand; it becomes a source when there is a client to watch it with.
GivenPolicies: TypeAlias = PolicySource | ConfigMapName


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where the status is written and the last good policy kept: a ConfigMap of ours, a folder."""

    status: ConfigMapName | None = None
    folder: Path | None = None

    def shown(self) -> dict[str, Any]:
        return {
            "status": str(self.status) if self.status is not None else None,
            "folder": str(self.folder) if self.folder is not None else None,
        }


class Delivery:
    def __init__(
        self,
        given: GivenPolicies,
        keeping: Keeping,
        reloader: Reloader,
        *,
        client: ApiClient,
        clock: Clock,
        random: Random,
        events: EventRecorder,
        group: asyncio.TaskGroup,
        by: str,
        leads: Callable[[], bool],
        patience: Patience,
        heartbeats: Heartbeats,
    ) -> None:
        self._reloader = reloader
        self._clock = clock
        self._group = group
        self._heartbeats = heartbeats
        self._watches = ConfigMapWatches(
            client, clock, random, group, patience=patience, heartbeats=heartbeats
        )
        self._followed: list[WithConfigMaps] = []
        self._needed: set[ConfigMapName] = set()
        self.source = self.source_of(given)
        status = keeping.status
        self._stores = (
            *((FolderStore(keeping.folder),) if keeping.folder is not None else ()),
            *((ConfigMapStore(status, client),) if status is not None else ()),
        )
        about = given if isinstance(given, ConfigMapName) else None
        self.report = PolicyReport(
            reloader,
            clock,
            events,
            by=by,
            leads=leads,
            about=about,
            uid=lambda: self._watches.uid(about) if about is not None else "",
            status=OwnConfigMap(status, client, manager="kpolicy-status") if status else None,
            stores=self._stores,
        )
        reloader.told.append(self._forget)

    def source_of(self, given: GivenPolicies) -> WithConfigMaps:
        """A source whose ConfigMaps are watched as long as we run."""
        if isinstance(given, ConfigMapName):
            self._needed.add(ConfigMapName(given.namespace, given.name))
            given = ConfigMapSource(given, self._watches)
        source = WithConfigMaps(given, self._watches, self._clock)
        self._followed.append(source)
        return source

    async def start(self) -> Problem | None:
        """The first policy in force, or why there is none."""
        return await start(self._reloader, self.source, self._stores)

    def follow(self) -> None:
        """Also while another leads: whoever takes over decides by what is wanted then."""
        for run, name in (
            (self._follow_source, "policy-source"),
            (self.report.run, "policy-report"),
        ):
            pulse = self._heartbeats.of(name, limits.POLICY_TASK_SILENT_S_MAX)
            self._group.create_task(run(pulse), name=name)

    async def _follow_source(self, pulse: Pulse) -> None:
        await self._reloader.follow(self.source, pulse)

    async def reload(self, sources: Sequence[Source] | None) -> Reloaded:
        """These, or what the source says when it is asked anew."""
        if sources is not None:
            return await self._reloader.read(self.source.of(sources))
        await self._watches.list_anew()
        return await self._reloader.read(self.source)

    def shown(self) -> dict[str, Any]:
        """For /configz."""
        reloader = self._reloader
        last = reloader.last
        return {
            "policy": in_force(reloader.in_force),
            "lastReload": {"result": last.result, "diagnostics": diagnostics(last.diagnostics)},
            "lastRefused": refused(reloader.refused),
            "watches": self._watches.last_errors(),
        }

    def _forget(self, _: Reloaded) -> None:
        named = frozenset[ConfigMapName]().union(*(source.names for source in self._followed))
        self._watches.keep(self._needed | named)
