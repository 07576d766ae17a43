"""The informers that keep the engine up to date with the API server.

An informer that no policy needs any more is stopped, and the engine forgets what it brought. An
informer ends only when it is cancelled: any other end stops the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.probe import NOT_SERVED, Patience, served
from kpolicy.cluster.watch.informer import Informer, InformerStatistics
from kpolicy.cluster.watch.resource import Resource, Sink
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.watched_resources import REQUIRED, watched
from kpolicy.scheduler.problem_codes import Problem, of_connection
from kpolicy.scheduler.runtime import Runtime, Tasks

_log = logging.getLogger(__name__)


class Informers:
    """`synced` is true once the first lists are in the engine, and stays true. `in_use` says
    whether other parts wait for these objects, so that no informer may end now."""

    def __init__(
        self,
        client: ApiClient,
        sink: Sink,
        runtime: Runtime,
        tasks: Tasks,
        *,
        patience: Patience,
        in_use: Callable[[], bool],
    ) -> None:
        self._client = client
        self._sink = sink
        self._clock = runtime.clock
        self._random = runtime.random
        self._tasks = tasks
        self._patience = patience
        self._in_use = in_use
        self._running: dict[str, tuple[Informer, asyncio.Task[None]]] = {}
        self._wanted: dict[str, frozenset[str]] = {}
        self._retiring: asyncio.Task[None] | None = None
        # By resource, the path in which it is served; empty: it is not.
        self._paths: dict[str, str] = {}
        # The policy in force and the shadow policy may ask at the same time.
        self._turn = asyncio.Lock()
        self.synced = False

    async def ensure(
        self, names: list[str], anew: list[str], *, whose: str = "policy"
    ) -> Problem | None:
        """Watches the resources that this policy reads, and lists those in `anew` again. After the
        first lists are complete, waits for the lists of added resources. Informers that are not
        needed end soon after."""
        async with self._turn:
            self._wanted[whose] = frozenset(names)
            problem = await self._ensure(names, anew)
        if problem is None and self._unwanted() and self._retiring is None:
            self._retiring = self._tasks.group.create_task(self._retire(), name="informers to end")
        return problem

    async def list_anew(self) -> None:
        """List every resource again. Returns when all lists are complete."""
        await _all_whole([], self._informers)

    async def _ensure(self, names: list[str], anew: list[str]) -> Problem | None:
        # What is absent or old is looked for again: the API server may be a newer one by now.
        added = [each for each in watched(names) if self._paths.get(each.name) != each.path]
        readable: list[Resource] = []
        async with asyncio.TaskGroup() as group:
            probes = [
                group.create_task(served(self._client, resource, patience=self._patience))
                for resource in added
            ]
        answers = [probed.result() for probed in probes]
        # Nothing is changed unless all answered: what was not started is asked again.
        for resource, answer in zip(added, answers, strict=True):
            if isinstance(answer, ConnectionProblem) and (
                answer.code != NOT_SERVED or resource.name in REQUIRED
            ):
                return of_connection(answer)
        for resource, answer in zip(added, answers, strict=True):
            path = answer.path if isinstance(answer, Resource) else ""
            if self._paths.get(resource.name) == path:
                continue
            if resource.name in self._running:
                await self._stop(resource.name)
            self._paths[resource.name] = path
            if isinstance(answer, Resource):
                readable.append(answer)
            else:
                _log.warning("%s; decisions are made as if there were none", answer.message)
        again = [informer for name, (informer, _) in self._running.items() if name in anew]
        started = [self._start(resource) for resource in readable]
        if not self.synced or not (started or again):
            return None
        async with self._clock.move_on_after(limits.ADDED_RESOURCE_SYNC_S):
            await _all_whole(started, again)
            return None
        late = ", ".join([*(resource.name for resource in readable), *anew])
        text = f"the list of {late} was not complete within {limits.ADDED_RESOURCE_SYNC_S:g} s"
        return Problem("KPS104", text, "look at the API server, then save it again")

    @property
    def _informers(self) -> list[Informer]:
        return [informer for informer, _ in self._running.values()]

    def _unwanted(self) -> set[str]:
        return self._running.keys() - REQUIRED.union(*self._wanted.values())

    async def _retire(self) -> None:
        """Stops informers that are not needed, but not during a reload, and not while pods wait for
        their objects."""
        while self._unwanted():
            await self._clock.sleep(limits.RETIRE_LOOK_S)
            async with self._turn:
                for name in sorted(self._unwanted()) if not self._in_use() else ():
                    await self._stop(name)
        self._retiring = None

    async def _stop(self, name: str) -> None:
        _, task = self._running[name]
        self._tasks.end(task)
        await asyncio.wait({task})
        del self._running[name], self._paths[name]
        await self._sink.list_begin(name)  # an empty list removes all objects
        await self._sink.list_end(name, "")
        _log.info("%s are watched no more: no policy reads them", name)

    async def wait_synced(self) -> None:
        await _all_synced(self._informers)
        self.synced = True

    def statistics(self) -> list[InformerStatistics]:
        return [informer.statistics() for informer in self._informers]

    def unreachable(self) -> str:
        """Why the engine's view of the cluster is out of date; empty while the API server
        answers."""
        for name in sorted(REQUIRED & self._running.keys()):
            now = self._running[name][0].statistics()
            if now.synced and not now.reachable:
                return f"{name}: {now.last_error}"
        return ""

    def silent_s(self) -> dict[tuple[str, ...], float]:
        """How long ago bytes last came, by resource."""
        now_ns = self._clock.monotonic_ns()
        return {
            (now.resource,): (now_ns - now.last_event_monotonic_ns) / NANOSECONDS
            for now in self.statistics()
            if now.synced
        }

    def _start(self, resource: Resource) -> Informer:
        informer = Informer(self._client, resource, self._sink, self._clock, self._random)
        task = self._tasks.begin(
            informer.run, f"informer-{resource.name}", INFORMER_SILENT_S_MAX, is_vital=True
        )
        self._running[resource.name] = (informer, task)
        return informer


async def _all_whole(started: list[Informer], again: list[Informer]) -> None:
    async with asyncio.TaskGroup() as group:
        for informer in again:
            group.create_task(informer.list_anew())
        group.create_task(_all_synced(started))


async def _all_synced(informers: list[Informer]) -> None:
    for informer in informers:
        await informer.wait_synced()
