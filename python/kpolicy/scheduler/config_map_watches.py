"""The ConfigMaps that are watched: one informer each, by name.

Owns which run, the wait for the first list, and telling that any of them changed. The right that is
needed can be given by name: lists and watches carry the field selector `metadata.name`. Assumes the
task group they live in. Must not know what is in them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.patience import Patience
from kpolicy.cluster.probe import probe
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from kpolicy.heartbeat import Heartbeats
from kpolicy.scheduler import limits
from kpolicy.scheduler.config_map_name import ConfigMapName
from kpolicy.scheduler.config_map_sink import ConfigMapSink, HeldConfigMap
from kpolicy.scheduler.problem import POLICY_UNREADABLE, Problem

_log = logging.getLogger(__name__)

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
        group: asyncio.TaskGroup,
        *,
        patience: Patience | None = None,
        heartbeats: Heartbeats,
    ) -> None:
        self._client = client
        self._patience = patience
        self._clock = clock
        self._random = random
        self._group = group
        self._heartbeats = heartbeats
        self._watched: dict[ConfigMapName, _Watched] = {}
        self._moved = asyncio.Event()

    async def held(self, name: ConfigMapName) -> HeldConfigMap | Problem | None:
        """What it is now, None where there is none; it is watched from the first time on."""
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
            return Problem(POLICY_UNREADABLE, text, "look at the API server")
        return watched.sink.held

    def digests(self, names: Collection[ConfigMapName]) -> dict[ConfigMapName, str]:
        """Of what is held now, of those that are watched."""
        return {name: self._watched[name].sink.digest for name in names if name in self._watched}

    def uid(self, name: ConfigMapName) -> str:
        """Of the one that is there or was there last."""
        watched = self._watched.get(ConfigMapName(name.namespace, name.name))
        return watched.sink.last_uid if watched is not None else ""

    async def differ(self, seen: Mapping[ConfigMapName, str]) -> None:
        """Until one of these is something else than was seen."""
        while self.digests(seen.keys()) == seen:
            await self._moved.wait()

    async def list_anew(self) -> None:
        """Ask the API server for each, however sure the watches are; not for ever."""
        async with asyncio.TaskGroup() as group:
            for watched in self._watched.values():
                group.create_task(self._within_time(watched.informer.list_anew()))

    def keep(self, names: Collection[ConfigMapName]) -> None:
        """End the watches of all others."""
        for name in self._watched.keys() - set(names):
            self._watched.pop(name).task.cancel()
            self._heartbeats.forget(_task_name(name))

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
            # Of two who came at once, the first has started it.
            return self._watched.get(name) or Problem(answer.code, answer.message, answer.hint)
        if name in self._watched:
            return self._watched[name]
        sink = ConfigMapSink(name, self._tell)
        informer = Informer(self._client, resource, sink, self._clock, self._random)
        pulse = self._heartbeats.of(_task_name(name), INFORMER_SILENT_S_MAX)
        task = self._group.create_task(informer.run(pulse), name=_task_name(name))
        self._watched[name] = _Watched(sink, informer, task)
        return self._watched[name]

    def _tell(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def _within_time(self, work: Coroutine[Any, Any, None]) -> bool:
        waiting = asyncio.ensure_future(work)
        timer = asyncio.ensure_future(self._clock.sleep(limits.ADDED_RESOURCE_SYNC_S))
        try:
            await asyncio.wait({waiting, timer}, return_when=asyncio.FIRST_COMPLETED)
            return bool(waiting.done())
        finally:
            waiting.cancel()
            timer.cancel()


def _task_name(name: ConfigMapName) -> str:
    return f"watch-configmap-{name.namespace}-{name.name}"
