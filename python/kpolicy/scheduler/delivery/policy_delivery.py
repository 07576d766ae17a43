"""Connects a policy source to the reloader, the last good copy and the reports.

A watch of a ConfigMap ends when no policy names it any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from kpolicy.clock import Clock
from kpolicy.cluster.writes.event_recorder import Reference
from kpolicy.policy.tenants.outcome import summary
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.config_maps import ConfigMapWatches, OwnConfigMap
from kpolicy.scheduler.delivery.last_good import ConfigMapStore, FolderStore, LastGood, start
from kpolicy.scheduler.delivery.policy_report import (
    PolicyReport,
    Reporting,
    diagnostics,
    in_force,
    refused,
)
from kpolicy.scheduler.delivery.sources import (
    ConfigMapSource,
    FixedSource,
    PolicySource,
    WithConfigMaps,
    follow,
)
from kpolicy.scheduler.delivery.tenant_maps import TenantMaps, WithTenants
from kpolicy.scheduler.delivery.tenant_programs import TenantPrograms
from kpolicy.scheduler.delivery.tenant_report import TenantReport
from kpolicy.scheduler.loop.reload import Reloaded, Reloader
from kpolicy.scheduler.options import ConfigMapName, TenantSettings
from kpolicy.scheduler.problem_codes import (
    Problem,
)
from kpolicy.scheduler.runtime import Tasks

# A ConfigMap is named before there is a client; it becomes a source when a client can watch it.
PolicyOrigin: TypeAlias = PolicySource | ConfigMapName


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where kpolicy keeps the status of the policy and the last good policy: a ConfigMap, and a
    folder."""

    status: ConfigMapName | None = None
    folder: Path | None = None

    def shown(self) -> dict[str, Any]:
        return {
            "status": str(self.status) if self.status is not None else None,
            "folder": str(self.folder) if self.folder is not None else None,
        }


@dataclass(frozen=True, slots=True)
class Policies:
    """The source of the policies (by default the shipped policy), and where the last good policy is
    kept."""

    source: PolicyOrigin = field(default_factory=FixedSource)
    keeping: Keeping = field(default_factory=Keeping)
    shadow: PolicyOrigin | None = None
    tenants: TenantSettings | None = None


@dataclass(frozen=True, slots=True)
class Tenants:
    """The policies of tenants: where they are written, how they are compiled, and who reports."""

    maps: TenantMaps
    programs: TenantPrograms
    report: TenantReport


class Delivery:
    def __init__(
        self,
        policies: Policies,
        reloader: Reloader,
        *,
        clock: Clock,
        watches: ConfigMapWatches,
        reporting: Reporting,
        tenants: Tenants | None,
    ) -> None:
        keeping, origin = policies.keeping, policies.source
        self._tenants = tenants
        self._reloader = reloader
        self._clock = clock
        self._watches = watches
        self._followed: list[WithConfigMaps] = []
        self._needed: set[ConfigMapName] = set()
        self._reload_wanted = asyncio.Event()
        self.source = self.source_of(origin)
        status, client = keeping.status, reporting.client
        self._stores = (
            *((FolderStore(keeping.folder),) if keeping.folder is not None else ()),
            *((ConfigMapStore(status, client),) if status is not None else ()),
        )

        def about() -> Reference | None:
            if not isinstance(origin, ConfigMapName):
                return None
            uid = watches.uid(origin)
            return Reference(origin.namespace, origin.name, uid, kind="ConfigMap")

        self.report = PolicyReport(
            reloader,
            clock,
            reporting,
            about=about,
            status=OwnConfigMap(status, client, manager="kpolicy-status") if status else None,
            stores=self._stores,
        )
        reloader.subscribe(self._end_unneeded_watches)

    def source_of(self, policies: PolicyOrigin) -> WithConfigMaps:
        """A source whose ConfigMaps are watched as long as this process runs."""
        if isinstance(policies, ConfigMapName):
            self._needed.add(ConfigMapName(policies.namespace, policies.name))
            policies = ConfigMapSource(policies, self._watches)
        source = WithConfigMaps(policies, self._watches, self._clock)
        self._followed.append(source)
        return source

    async def start(self) -> Problem | None:
        """Puts the first policy in force, or returns why there is none."""
        if self._tenants is not None:
            problem = await self._tenants.maps.start()
            if problem is not None:
                return problem
            for store in self._stores:
                kept = await store.load()
                if isinstance(kept, LastGood):
                    self._tenants.programs.remember(kept.sources)
        return await start(self._reloader, self._whole(self.source), self._stores)

    def begin_reports(self) -> None:
        """This replica leads from now on."""
        self.report.begin()
        if self._tenants is not None:
            self._tenants.report.begin()

    def _whole(self, source: PolicySource) -> PolicySource:
        """The source together with the policies of tenants."""
        return WithTenants(source, self._tenants.maps) if self._tenants is not None else source

    def follow(self, tasks: Tasks) -> None:
        """Follows the source. This also runs while another replica leads, because this replica may
        have to take over at any time."""
        silent_s_max = limits.POLICY_TASK_SILENT_S_MAX
        follow_source = partial(follow, self._whole(self.source), self._reloader.read, self._clock)
        tasks.begin(follow_source, "policy-source", silent_s_max)
        tasks.begin(self.report.run, "policy-report", silent_s_max)
        tasks.group.create_task(self._reload_when_asked(), name="policy-reload")

    def begin_reload(self) -> None:
        """Starts a reload soon. Requests that come before it starts cause one reload."""
        self._reload_wanted.set()

    async def _reload_when_asked(self) -> None:
        while True:
            await self._reload_wanted.wait()
            self._reload_wanted.clear()
            await self.reload(None)

    async def reload(self, sources: Sequence[Source] | None) -> Reloaded:
        """Puts these sources in force, or reads the policy source again."""
        if sources is not None:
            return await self._reloader.read(self._whole(self.source.of(sources)))
        await self._watches.list_anew()
        return await self._reloader.read(self._whole(self.source))

    def shown(self) -> dict[str, Any]:
        """For /configz."""
        reloader = self._reloader
        return {
            "policy": in_force(reloader.in_force),
            "lastReload": {
                "result": reloader.last.result,
                "diagnostics": diagnostics(reloader.last.diagnostics),
            },
            "lastRefused": refused(reloader.refused),
            "watches": self._watches.last_errors() | self._tenants_errors(),
            "tenants": summary(reloader.tenants, limits.TENANTS_LISTED_MAX),
        }

    def _tenants_errors(self) -> dict[str, str]:
        return self._tenants.maps.last_errors() if self._tenants is not None else {}

    def _end_unneeded_watches(self, _: Reloaded) -> None:
        named = frozenset[ConfigMapName]().union(*(source.names for source in self._followed))
        self._watches.keep(self._needed | named)
