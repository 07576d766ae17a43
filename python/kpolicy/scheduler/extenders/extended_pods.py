"""Pods about which extenders are asked: each decided in two steps, some at a time.

Owns which pods of a batch these are, their order while they wait, and the way from the engine's
filter over the extenders to its choice. Others are decided meanwhile: the choice judges again, and
where nothing is left of what was asked about, it is asked again; so it is with who is to go.
A choice and a new program exclude each other, so that one decision follows one program.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.binding import pod_path
from kpolicy.cluster.failure import Status
from kpolicy.engine import Decision, Filtered, LeftRoom, Located, Verdict
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.decide import Taken, take
from kpolicy.scheduler.engine_port import EngineThread
from kpolicy.scheduler.extenders.asking import Asked, Subject, ask
from kpolicy.scheduler.extenders.client import ExtenderClient, Failed
from kpolicy.scheduler.extenders.extender_binds import ExtenderBinds
from kpolicy.scheduler.extenders.in_force import Extenders, ExtendersInForce
from kpolicy.scheduler.extenders.raw_nodes import bare
from kpolicy.scheduler.extenders.trimming import Sources, Trimming
from kpolicy.scheduler.queue import Queue
from kpolicy.scheduler.queued_pod import Lane, QueuedPod
from kpolicy.scheduler.report import Basis

_NOT_FOUND: Final = 404


class WholeNodes(Protocol):
    async def whole(self) -> dict[str, bytes] | str:
        """Every node, or why they are not to be had."""
        ...


@dataclass(slots=True)
class _Pod:
    pod: QueuedPod
    requested: frozenset[str]


class ExtendedPods:
    """Run it as a task. `act` carries out what was decided."""

    def __init__(
        self,
        client: ApiClient,
        thread: EngineThread,
        queue: Queue,
        in_force: ExtendersInForce,
        *,
        binds: ExtenderBinds,
        nodes: WholeNodes,
        clock: Clock,
        between: asyncio.Lock,
        group: asyncio.TaskGroup,
        on_work: Callable[[], None],
    ) -> None:
        self.in_force = in_force
        self._client = client
        self._thread = thread
        self._queue = queue
        self._binds = binds
        self._nodes = nodes
        self._clock = clock
        self._between = between
        self._group = group
        self._on_work = on_work
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int, int, _Pod]] = []
        self._asking = 0
        self._stopped = False
        self._work = asyncio.Event()
        self.act: Callable[[Taken, Basis], None] = lambda taken, basis: None
        self.room: Callable[[], int] = lambda: 1

    @property
    def under_way(self) -> int:
        """Pods that wait to be asked about, or are."""
        return len(self._waiting) + self._asking

    def poke(self) -> None:
        self._work.set()

    def stop(self) -> None:
        """Ask about no more; answers that still come become binds."""
        self._stopped = True

    async def take(self, batch: list[QueuedPod]) -> list[QueuedPod]:
        """Keep those about which somebody is to be asked; the others."""
        extenders = self.in_force.now
        if not extenders.by_profile:
            return batch
        candidates = [pod for pod in batch if pod.profile in extenders.by_profile]
        requested: list[list[str]] = [[] for _ in candidates]
        if candidates and extenders.managed:
            requested = await self._thread.call(
                self._thread.engine.requested, [pod.uid for pod in candidates], extenders.managed
            )
        kept = set()
        for pod, names in zip(candidates, requested, strict=True):
            one = _Pod(pod, frozenset(names))
            if _interested(extenders, one):
                kept.add(pod.uid)
                entry = (-pod.priority, pod.timestamp_ns, next(self._tickets), one)
                heapq.heappush(self._waiting, entry)
        self.poke()
        return [pod for pod in batch if pod.uid not in kept]

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        while True:
            self._work.clear()
            while (
                self._waiting
                and not self._stopped
                and self._asking < limits.EXTENDED_PODS_MAX
                and self.room() > 0
            ):
                *_, one = heapq.heappop(self._waiting)
                if self._is_ours(one.pod):
                    self._asking += 1
                    self._group.create_task(self._decide(one), name="extenders")
            pulse.rest(self._work.is_set)
            await self._work.wait()

    # --- one pod ---------------------------------------------------------------------------------

    async def _decide(self, one: _Pod) -> None:
        try:
            for _ in range(limits.EXTENDED_TRIES_MAX):
                if await self._try(one):
                    return
            await self._end(one, _failed(one.pod, "the cluster changed while extenders were asked"))
        finally:
            self._asking -= 1
            self.poke()
            self._on_work()

    async def _try(self, one: _Pod) -> bool:
        """False: what was asked about is out of date."""
        extenders = self.in_force.now
        clients = _interested(extenders, one)
        uid = one.pod.uid
        first = await self._filter(uid)
        asked = await self._ask(clients, one.pod, first.feasible)
        if asked is None:
            self._queue.gone(uid)
            return True
        if asked.error:
            await self._end(one, _failed(one.pod, asked.error))
            return True
        left = None
        if any(client.extender.preempt_verb for client in clients):
            left = await self._trimmed(clients, one.pod, first.token, asked)
        async with self._between:
            if self.in_force.now is not extenders:
                return False
            basis = await self._basis()
            decision = await self._choose(uid, first.token, asked, left, basis)
            if decision.verdict == Verdict.STALE:
                again = await self._filter(uid)
                if set(again.feasible) <= set(first.feasible):  # nothing that was not asked about
                    decision = await self._choose(uid, again.token, asked, left, basis)
            if decision.verdict == Verdict.STALE:
                return False
            if decision.verdict == Verdict.PLACED:
                self._binds.expect(uid, clients)
            self.act(take(self._queue, [one.pod], [decision], self._clock.monotonic_ns()), basis)
        return True

    async def _filter(self, uid: str) -> Filtered:
        return await self._thread.call(self._thread.engine.filter, uid, self._clock.now_ns())

    async def _choose(
        self, uid: str, token: int, asked: Asked, left: LeftRoom | None, basis: Basis
    ) -> Decision:
        if left is not None:
            return await self._thread.call(
                self._thread.engine.preempt,
                uid, token, asked.kept, asked.refused, basis.started_ns, left=left,
            )  # fmt: skip
        return await self._thread.call(
            self._thread.engine.choose, uid, token, asked.kept, asked.refused, basis.started_ns
        )

    async def _ask(
        self, clients: Sequence[ExtenderClient], pod: QueuedPod, nodes: Sequence[str]
    ) -> Asked | None:
        """None: the pod is gone."""
        if not nodes:
            return Asked()
        body = await self._read(pod)
        if not isinstance(body, bytes):
            return body
        whole: dict[str, bytes] | str = {}
        if any(not client.extender.node_cache_capable for client in clients):
            whole = await self._nodes.whole()
        if isinstance(whole, str):
            return Asked(error=whole)
        return await ask(clients, Subject(body, whole), nodes)

    async def _trimmed(
        self, clients: Sequence[ExtenderClient], pod: QueuedPod, token: int, asked: Asked
    ) -> LeftRoom:
        """What extenders leave of the candidates."""
        engine = self._thread.engine
        candidates = await self._thread.call(
            engine.candidates, pod.uid, token, asked.kept, asked.refused, self._clock.now_ns()
        )
        if not candidates.nodes:
            return LeftRoom(candidates.token, "", None)
        body = await self._read(pod)
        if not isinstance(body, bytes):  # who is gone is told so by the engine
            return LeftRoom(candidates.token, body.error if body else "", [])

        async def located(uids: list[str]) -> list[Located]:
            return await self._thread.call(engine.located, uids)

        trimming = Trimming(body, candidates, Sources(located, self._victim))
        return await trimming.ask(clients)

    async def _victim(self, victim: Located) -> bytes | Failed | None:
        """A pod that is to go, as the API server has it now. None: it went by itself."""
        path = pod_path(victim.namespace, victim.name)
        answer = await self._client.request("GET", path)
        if isinstance(answer, Status) and answer.code == _NOT_FOUND:
            return None
        if not isinstance(answer, Response):
            return Failed(f"the pod {victim.namespace}/{victim.name} could not be read: {answer}")
        document = json.loads(answer.body)
        return bare(document) if document["metadata"]["uid"] == victim.uid else None

    async def _read(self, pod: QueuedPod) -> bytes | Asked | None:
        """The pod as the API server has it now."""
        answer = await self._client.request("GET", pod_path(pod.namespace, pod.name))
        if isinstance(answer, Status) and answer.code == _NOT_FOUND:
            return None
        if not isinstance(answer, Response):
            return Asked(error=f"the pod could not be read: {answer}")
        document = json.loads(answer.body)
        return bare(document) if document["metadata"]["uid"] == pod.uid else None

    async def _basis(self) -> Basis:
        """What a decision rests on, had of an empty batch."""
        now_ns, monotonic_ns = self._clock.now_ns(), self._clock.monotonic_ns()
        empty = await self._thread.call(self._thread.engine.schedule, [], now_ns)
        return Basis(empty.program_hash, empty.resource_version, now_ns, monotonic_ns)

    async def _end(self, one: _Pod, decision: Decision) -> None:
        basis = await self._basis()
        self.act(take(self._queue, [one.pod], [decision], self._clock.monotonic_ns()), basis)

    def _is_ours(self, pod: QueuedPod) -> bool:
        """It may have gone, or have come again, while it waited."""
        return self._queue.get(pod.uid) is pod and pod.lane is Lane.ATTEMPT


def _interested(extenders: Extenders, one: _Pod) -> list[ExtenderClient]:
    own = extenders.by_profile.get(one.pod.profile, ())
    return [client for client in own if client.is_interested(one.requested)]


def _failed(pod: QueuedPod, message: str) -> Decision:
    """Of a cycle that an extender broke off."""
    return Decision(
        Verdict.FAILED, pod.uid, pod.namespace, pod.name, "", message, 0, 0, 0, 0, 0, 0, "",
        [], [], [], [],
    )  # fmt: skip
