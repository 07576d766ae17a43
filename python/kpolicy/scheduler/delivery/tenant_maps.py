"""The ConfigMaps of tenants: those of one name in all namespaces, and which tenant each belongs to.

A tenant is a namespace, or a value of the label of namespaces that the operator names. A ConfigMap
that changes all the time is read once a minute.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock, first_of
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.probe import Patience, probe
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from kpolicy.cluster.writes.event_recorder import Reference
from kpolicy.policy.limits import TENANT_BYTES_MAX
from kpolicy.policy.yaml.source import Source, Tenant
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.sources import SUFFIXES, PolicySource
from kpolicy.scheduler.loop.watched_resources import ObjectSink, metadata_of
from kpolicy.scheduler.options import TenantSettings
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.runtime import Tasks

_ROLE: Final = "a ClusterRole like that of deploy/kustomize/components/tenants/cluster-role.yaml"


@dataclass(frozen=True, slots=True)
class TenantMap:
    """The ConfigMap of one namespace, with the keys that are policies. Texts beyond the bytes that
    a tenant may have are cut: they are refused for their size."""

    uid: str
    texts: tuple[tuple[str, str], ...]
    digest: str


class TenantMapSink(ObjectSink):
    """The ConfigMaps, by namespace."""

    def __init__(self, name: str, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._name = name
        self._on_change = on_change
        self.held: dict[str, TenantMap] = {}

    def name_of(self, item: Any) -> str:
        """The namespace. The selector admits only one name."""
        metadata = metadata_of(item)
        is_named_so = metadata.get("name") == self._name
        return str(metadata.get("namespace") or "") if is_named_so else ""

    def put(self, name: str, item: dict[str, Any]) -> None:
        if name not in self.held and len(self.held) >= limits.TENANT_MAPS_MAX:
            last = max(self.held)
            if name > last:
                return
            del self.held[last]
        before, self.held[name] = self.held.get(name), _tenant_map(item)
        if before is None or before.digest != self.held[name].digest:
            self._on_change()

    def remove(self, name: str) -> None:
        if self.held.pop(name, None) is not None:
            self._on_change()


def _tenant_map(item: dict[str, Any]) -> TenantMap:
    data = item.get("data")
    left, texts = TENANT_BYTES_MAX + 1, []
    for key, text in sorted(data.items()) if isinstance(data, dict) else ():
        if key.endswith(SUFFIXES) and isinstance(text, str):
            texts.append((key, text[:left]))
            left -= len(texts[-1][1])
    digest = sha256(json.dumps(texts).encode()).hexdigest()
    return TenantMap(str(metadata_of(item).get("uid") or ""), tuple(texts), digest)


class NamespaceSink(ObjectSink):
    """The value of one label of each namespace that has it."""

    def __init__(self, label: str, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._label = label
        self._on_change = on_change
        self.values: dict[str, str] = {}

    def put(self, name: str, item: dict[str, Any]) -> None:
        labels = metadata_of(item).get("labels")
        value = labels.get(self._label) if isinstance(labels, dict) else None
        self._set(name, value if isinstance(value, str) else "")

    def remove(self, name: str) -> None:
        self._set(name, "")

    def _set(self, name: str, value: str) -> None:
        if self.values.get(name, "") == value:
            return
        if value:
            self.values[name] = value
        else:
            del self.values[name]
        self._on_change()


@dataclass(frozen=True, slots=True)
class _Reading:
    """The ConfigMap of a namespace as it was read last, and when. None: it was not there."""

    map: TenantMap | None
    at_ns: int


class TenantMaps:
    """`start` before all else."""

    def __init__(
        self,
        settings: TenantSettings,
        client: ApiClient,
        clock: Clock,
        random: Random,
        tasks: Tasks,
        *,
        patience: Patience | None,
    ) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._random = random
        self._tasks = tasks
        self._patience = patience
        self._maps = TenantMapSink(settings.config_map, self._notify)
        self._namespaces = NamespaceSink(settings.label, self._notify)
        self._moved = asyncio.Event()
        self._readings: dict[str, _Reading] = {}
        self._labelled: dict[str, str] = {}
        self._informers: list[Informer] = []

    async def start(self) -> Problem | None:
        """Watches from now on, and returns when the lists are whole."""
        name = self._settings.config_map
        maps = Resource(
            f"configmaps {name}",
            "/api/v1/configmaps",
            field_selector=f"metadata.name={name}",
            granted_by=_ROLE,
        )
        namespaces = Resource("namespaces", "/api/v1/namespaces", granted_by=_ROLE)
        watched: list[tuple[Resource, ObjectSink, str]] = [(maps, self._maps, "watch-tenants")]
        if self._settings.label:
            watched.append((namespaces, self._namespaces, "watch-tenants-namespaces"))
        resources = [resource for resource, _, _ in watched]
        answer = await probe(self._client, resources, patience=self._patience)
        if isinstance(answer, ConnectionProblem):
            return Problem(answer.code, answer.message, answer.hint)
        for resource, sink, task in watched:
            informer = Informer(self._client, resource, sink, self._clock, self._random)
            self._informers.append(informer)
            self._tasks.begin(informer.run, task, INFORMER_SILENT_S_MAX)
        for informer in self._informers:
            async with self._clock.move_on_after(limits.ADDED_RESOURCE_SYNC_S) as timeout:
                await informer.wait_synced()
            if timeout.expired:
                why = informer.statistics().last_error or "no answer"
                text = f"the ConfigMaps of tenants could not be read: {why}"
                return Problem("KPS101", text, "look at the API server")
        return None

    def sources(self) -> tuple[Source, ...]:
        """The policies of all tenants. What was read less than a minute ago stays as it was
        read."""
        now_ns = self._clock.monotonic_ns()
        self._labelled = dict(self._namespaces.values)
        for namespace in self._differing():
            if self._due_ns(namespace) <= now_ns:
                self._readings[namespace] = _Reading(self._maps.held.get(namespace), now_ns)
        for namespace, reading in list(self._readings.items()):
            if reading.map is None and self._due_ns(namespace) <= now_ns:
                del self._readings[namespace]
        members = self._members()
        return tuple(
            source
            for namespace, reading in sorted(self._readings.items())
            if reading.map is not None and self._tenant_of(namespace)
            for source in _sources(
                self._settings.config_map,
                namespace,
                reading.map,
                Tenant(self._tenant_of(namespace), members[self._tenant_of(namespace)]),
            )
        )

    async def changed(self) -> None:
        """Returns when `sources` may answer otherwise than before."""
        while True:
            moved, now_ns = self._moved, self._clock.monotonic_ns()
            if self._namespaces.values != self._labelled:
                return
            due_ns = min(map(self._due_ns, self._differing()), default=None)
            if due_ns is None:
                await moved.wait()
            elif due_ns <= now_ns:
                return
            else:
                async with self._clock.move_on_after((due_ns - now_ns) / NANOSECONDS):
                    await moved.wait()

    def references(self, tenant: Tenant) -> list[Reference]:
        """The ConfigMaps of a tenant, for events about them."""
        name = self._settings.config_map
        return [
            Reference(namespace, name, reading.map.uid, kind="ConfigMap")
            for namespace, reading in sorted(self._readings.items())
            if reading.map is not None and namespace in tenant.namespaces
        ]

    def last_errors(self) -> dict[str, str]:
        """For /configz."""
        statistics = [informer.statistics() for informer in self._informers]
        return {each.resource: each.last_error for each in statistics}

    def _tenant_of(self, namespace: str) -> str:
        """Empty if the namespace has no tenant."""
        return self._labelled.get(namespace, "") if self._settings.label else namespace

    def _members(self) -> Mapping[str, tuple[str, ...]]:
        """The namespaces of each tenant."""
        if not self._settings.label:
            return {namespace: (namespace,) for namespace in self._readings}
        members: dict[str, list[str]] = {}
        for namespace in sorted(self._labelled):
            members.setdefault(self._labelled[namespace], []).append(namespace)
        return {tenant: tuple(namespaces) for tenant, namespaces in members.items()}

    def _differing(self) -> Collection[str]:
        """Namespaces whose ConfigMap is not the one that was read last."""
        return [
            namespace
            for namespace in sorted(self._maps.held.keys() | self._readings.keys())
            if _digest(self._maps.held.get(namespace)) != self._read_digest(namespace)
        ]

    def _read_digest(self, namespace: str) -> str:
        reading = self._readings.get(namespace)
        return _digest(reading.map) if reading is not None else ""

    def _due_ns(self, namespace: str) -> int:
        """When the ConfigMap of the namespace may be read again."""
        reading = self._readings.get(namespace)
        if reading is None:
            return 0
        return reading.at_ns + round(limits.TENANT_PERIOD_S_MIN * NANOSECONDS)

    def _notify(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


class WithTenants:
    """The operator's policies together with those of tenants."""

    def __init__(self, policies: PolicySource, tenants: TenantMaps) -> None:
        self._policies = policies
        self._tenants = tenants

    async def read(self) -> tuple[Source, ...] | Problem:
        sources = await self._policies.read()
        return sources if isinstance(sources, Problem) else (*sources, *self._tenants.sources())

    async def changed(self) -> None:
        await first_of(self._policies.changed(), self._tenants.changed())


def _digest(map_: TenantMap | None) -> str:
    return map_.digest if map_ is not None else ""


def _sources(name: str, namespace: str, held: TenantMap, tenant: Tenant) -> Iterator[Source]:
    """One source for each key; a ConfigMap without policies is an empty one, which is refused."""
    place = f"configmap/{namespace}/{name}"
    if not held.texts:
        yield Source(place, "", is_named=True, tenant=tenant)
    for key, text in held.texts:
        yield Source(f"{place}/{key}", text, is_named=True, tenant=tenant)
