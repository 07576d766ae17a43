"""The ConfigMaps that kpolicy watches, with one informer each, and those that it writes.

Rights to both can be granted by name: lists and watches carry the field selector `metadata.name`,
and writes are server-side apply.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.probe import Patience, probe
from kpolicy.cluster.request_failure import (
    Failure,
)
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.watched_resources import ObjectSink
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.runtime import Tasks

_ROLE = "a Role like that of deploy/kustomize/base/role.yaml"


@dataclass(frozen=True, slots=True)
class _Watched:
    sink: ConfigMapSink
    informer: Informer
    task: asyncio.Task[None]


class ConfigMapWatches:
    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        random: Random,
        tasks: Tasks,
        *,
        patience: Patience | None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._random = random
        self._tasks = tasks
        self._patience = patience
        self._watched: dict[ConfigMapName, _Watched] = {}
        self._moved = asyncio.Event()

    async def held(self, name: ConfigMapName) -> HeldConfigMap | Problem | None:
        """The ConfigMap as it is now, or None if it does not exist. The first call starts its
        watch."""
        name = ConfigMapName(name.namespace, name.name)
        watched = self._watched.get(name)
        if watched is None:
            started = await self._start(name)
            if isinstance(started, Problem):
                return started
            watched = started
        if not await self._within_time(watched.informer.wait_synced()):
            why = watched.informer.statistics().last_error or "no answer"
            text = f"the {name.shown} could not be read: {why}"
            return Problem("KPS101", text, "look at the API server")
        return watched.sink.held

    def digests(self, names: Collection[ConfigMapName]) -> dict[ConfigMapName, str]:
        """The present digests of the watched ConfigMaps."""
        return {name: self._watched[name].sink.digest for name in names if name in self._watched}

    def uid(self, name: ConfigMapName) -> str:
        """The uid of the ConfigMap of this name, or of the last ConfigMap that had this name."""
        watched = self._watched.get(ConfigMapName(name.namespace, name.name))
        return watched.sink.last_uid if watched is not None else ""

    async def differ(self, seen: Mapping[ConfigMapName, str]) -> None:
        """Returns when one of these ConfigMaps has another digest."""
        while self.digests(seen.keys()) == seen:
            await self._moved.wait()

    async def list_anew(self) -> None:
        """Lists each ConfigMap again, although its watch runs. Gives up after
        `ADDED_RESOURCE_SYNC_S`."""
        async with asyncio.TaskGroup() as group:
            for watched in self._watched.values():
                group.create_task(self._within_time(watched.informer.list_anew()))

    def keep(self, names: Collection[ConfigMapName]) -> None:
        """Ends the watches of all other ConfigMaps."""
        for name in self._watched.keys() - set(names):
            self._tasks.end(self._watched.pop(name).task)

    def last_errors(self) -> dict[str, str]:
        return {
            str(name): watched.informer.statistics().last_error
            for name, watched in self._watched.items()
        }

    async def _start(self, name: ConfigMapName) -> _Watched | Problem:
        resource = Resource(
            f"configmaps {name}",
            name.collection,
            field_selector=f"metadata.name={name.name}",
            granted_by=_ROLE,
        )
        answer = await probe(self._client, [resource], patience=self._patience)
        if isinstance(answer, ConnectionProblem):
            # If two callers came at once, the first has started it.
            return self._watched.get(name) or Problem(answer.code, answer.message, answer.hint)
        if name in self._watched:
            return self._watched[name]
        sink = ConfigMapSink(name, self._notify)
        informer = Informer(self._client, resource, sink, self._clock, self._random)
        task_name = f"watch-configmap-{name.namespace}-{name.name}"
        task = self._tasks.begin(informer.run, task_name, INFORMER_SILENT_S_MAX)
        self._watched[name] = _Watched(sink, informer, task)
        return self._watched[name]

    def _notify(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def _within_time(self, work: Coroutine[Any, Any, None]) -> bool:
        async with self._clock.move_on_after(limits.ADDED_RESOURCE_SYNC_S):
            await work
            return True
        return False


@dataclass(frozen=True, slots=True)
class HeldConfigMap:
    """A ConfigMap as it was last seen. `digest` covers its texts and nothing else."""

    name: ConfigMapName
    uid: str
    resource_version: str
    data: Mapping[str, str]
    digest: str


class ConfigMapSink(ObjectSink):
    """Keeps the ConfigMap of this name. `on_change` is called when its texts differ, and when it is
    created or deleted."""

    def __init__(self, name: ConfigMapName, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._name = name
        self._on_change = on_change
        self.held: HeldConfigMap | None = None
        # kept after the ConfigMap is deleted, because events about it name this uid
        self.last_uid = ""

    @property
    def digest(self) -> str:
        return self.held.digest if self.held is not None else ""

    def put(self, name: str, item: dict[str, Any]) -> None:
        if name == self._name.name:
            held = _held(self._name, item)
            self.last_uid = held.uid
            self._hold(held)

    def remove(self, name: str) -> None:
        if name == self._name.name:
            self._hold(None)

    def _hold(self, held: HeldConfigMap | None) -> None:
        before, self.held = self.digest, held
        if self.digest != before:
            self._on_change()


def _held(name: ConfigMapName, item: dict[str, Any]) -> HeldConfigMap:
    metadata, data = item["metadata"], item.get("data")
    texts = {key: value for key, value in (data or {}).items() if isinstance(value, str)}
    canonical = json.dumps(texts, sort_keys=True).encode()
    return HeldConfigMap(
        name,
        str(metadata.get("uid") or ""),
        str(metadata.get("resourceVersion") or ""),
        texts,
        sha256(canonical).hexdigest(),
    )


_APPLY: Final = "application/apply-patch+yaml"
_LABELS: Final = {"app.kubernetes.io/managed-by": "kpolicy"}


class OwnConfigMap:
    """A ConfigMap that kpolicy writes. The field manager `manager` owns the keys that it applies,
    and no others."""

    def __init__(self, name: ConfigMapName, client: ApiClient, *, manager: str) -> None:
        self.name = name
        self._client = client
        self._query = {"fieldManager": manager, "force": "true"}

    async def apply(self, keys: Mapping[str, Any]) -> Failure | None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.name.name, "labels": _LABELS},
            **keys,
        }
        answer = await self._client.request(
            "PATCH", self.name.path, self._query, json.dumps(body).encode(), content_type=_APPLY
        )
        return None if isinstance(answer, Response) else answer
