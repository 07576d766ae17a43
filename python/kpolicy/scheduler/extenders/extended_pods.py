"""Decides the pods that extenders are interested in, a few at a time.

For each pod the engine filters, the extenders answer, and the engine chooses. Other pods are
decided meanwhile, so the choice checks the nodes again; it is STALE when none of those that the
extenders were asked about is feasible any more. No choice is made while a new program is put in
force. Nodes for extenders that are sent whole objects come from a list and watch of their own,
which begins when an extender first needs them.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX
from kpolicy.cluster.request_failure import Status
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.engine import Decision, Filtered, Located, RemainingCandidates, Verdict
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.asking import Asked, Subject, Trimming, ask
from kpolicy.scheduler.extenders.in_force import (
    ExtenderBinds,
    ExtenderClient,
    Extenders,
    ExtendersInForce,
    Failed,
)
from kpolicy.scheduler.extenders.pod_fields import PodFields, bare
from kpolicy.scheduler.loop.consequences import Consequences, take
from kpolicy.scheduler.loop.pod_try import Basis, PodTry, about
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.watched_resources import RESOURCES, ObjectSink
from kpolicy.scheduler.runtime import EngineThread, Runtime, Tasks

# The failure for an answer that is not an API object, such as a proxy's page.
_NOT_AN_OBJECT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class RawNodes(ObjectSink):
    """`by_name` has the nodes as they are now."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: dict[str, bytes] = {}

    def put(self, name: str, item: dict[str, Any]) -> None:
        # Text that is not Unicode makes one node unreadable, not all of them; the engine's own
        # watch reports it.
        with suppress(UnicodeEncodeError, RecursionError):
            self.by_name[name] = bare(item)

    def remove(self, name: str) -> None:
        self.by_name.pop(name, None)


_TASK: Final = "informer-nodes-for-extenders"


class WholeNodes:
    """Watches nodes, beginning when they are first needed."""

    def __init__(self, client: ApiClient, clock: Clock, random: Random, tasks: Tasks) -> None:
        self._nodes = RawNodes()
        self._clock = clock
        self._tasks = tasks
        self._informer = Informer(client, RESOURCES["nodes"], self._nodes, clock, random)
        self._running = False

    async def whole(self) -> dict[str, bytes] | str:
        """Every node, or why the nodes cannot be read."""
        if not self._running:
            self._running = True
            self._tasks.begin(self._informer.run, _TASK, INFORMER_SILENT_S_MAX)
        async with self._clock.move_on_after(limits.ADDED_RESOURCE_SYNC_S):
            await self._informer.wait_synced()
            return self._nodes.by_name
        return "the list of nodes for extenders is not complete yet"


class FreshPods:
    """Reads pods from the API server. The result is None if the pod is gone; another pod may have
    its name."""

    def __init__(self, client: ApiClient, fields: PodFields) -> None:
        self._client = client
        self._fields = fields

    async def pending(self, pod: Attempt) -> bytes | Failed | None:
        """The pod that the extenders are asked about."""
        return await self._read(pod.namespace, pod.name, pod.uid, "the pod")

    async def victim(self, victim: Located) -> bytes | Failed | None:
        """A pod that would be evicted."""
        what = f"the pod {victim.namespace}/{victim.name}"
        return await self._read(victim.namespace, victim.name, victim.uid, what)

    async def _read(self, namespace: str, name: str, uid: str, what: str) -> bytes | Failed | None:
        answer = await self._client.request("GET", pod_path(namespace, name))
        if isinstance(answer, Status) and answer.code == 404:
            return None
        if not isinstance(answer, Response):
            return Failed(f"{what} could not be read: {answer}")
        try:
            document = json.loads(answer.body)
            is_same = document["metadata"]["uid"] == uid
            return self._fields.pod(document) if is_same else None
        except _NOT_AN_OBJECT:
            return Failed(f"{what} could not be read: the answer is no object of the API")


@dataclass(frozen=True, slots=True)
class Answers:
    """`left`: the candidates for a preemption that the extenders leave, if one of them decides
    about preemption."""

    first: Filtered
    asked: Asked
    left: RemainingCandidates | None = None


class TwoSteps:
    def __init__(
        self, thread: EngineThread, pods: FreshPods, nodes: WholeNodes, clock: Clock
    ) -> None:
        self._thread = thread
        self._pods = pods
        self._nodes = nodes
        self._clock = clock

    async def ask(self, pod_try: PodTry, clients: Sequence[ExtenderClient]) -> Answers | None:
        """Returns None if the pod is gone."""
        pod, names = pod_try.pod, tuple(client.name for client in clients)
        with pod_try.spending(self._clock, "filter for extenders"):
            first = await self._filter(pod.uid)
        with pod_try.spending(self._clock, "extenders", names):
            asked = await self._ask(clients, pod, first.feasible)
        if asked is None:
            return None
        if asked.error or not any(client.extender.preempt_verb for client in clients):
            return Answers(first, asked, None)
        with pod_try.spending(self._clock, "extenders on victims", names):
            left = await self._trimmed(clients, pod, first.token, asked)
        if isinstance(left, Failed):  # nothing is known of the room there is
            return Answers(first, Asked(error=left.message), None)
        return Answers(first, asked, left)

    async def choose(self, uid: str, answers: Answers, basis: Basis) -> Decision:
        """Returns STALE if the cluster has changed too much since the extenders were asked."""
        decision = await self._choose(uid, answers.first.token, answers, basis)
        if decision.verdict == Verdict.STALE:
            again = await self._filter(uid)
            if set(again.feasible) <= set(answers.first.feasible):  # nothing that was not asked
                decision = await self._choose(uid, again.token, answers, basis)
        return decision

    async def basis(self) -> Basis:
        """The basis of a decision that is made now; the engine returns it for an empty batch."""
        now_ns, monotonic_ns = self._clock.now_ns(), self._clock.monotonic_ns()
        empty = await self._thread.call(self._thread.engine.schedule, [], now_ns)
        return Basis(empty.program_hash, empty.resource_version, now_ns, monotonic_ns)

    async def _filter(self, uid: str) -> Filtered:
        return await self._thread.call(self._thread.engine.filter, uid, self._clock.now_ns())

    async def _choose(self, uid: str, token: int, answers: Answers, basis: Basis) -> Decision:
        engine, judged = self._thread.engine, answers.asked.judged(token)
        if answers.left is None:
            return await self._thread.call(engine.choose, uid, judged, basis.started_ns)
        return await self._thread.call(engine.preempt, uid, judged, answers.left, basis.started_ns)

    async def _ask(
        self, clients: Sequence[ExtenderClient], pod: Attempt, nodes: Sequence[str]
    ) -> Asked | None:
        """Returns None if the pod is gone."""
        if not nodes:
            return Asked()
        body = await self._pods.pending(pod)
        if body is None:
            return None
        if isinstance(body, Failed):
            return Asked(error=body.message)
        whole: dict[str, bytes] | str = {}
        if any(not client.extender.node_cache_capable for client in clients):
            whole = await self._nodes.whole()
        if isinstance(whole, str):
            return Asked(error=whole)
        return await ask(clients, Subject(body, whole), nodes)

    async def _trimmed(
        self, clients: Sequence[ExtenderClient], pod: Attempt, token: int, asked: Asked
    ) -> RemainingCandidates | Failed:
        """The candidates that extenders leave, or a failure if the pod could not be read."""
        candidates = await self._thread.call(
            self._thread.engine.candidates, pod.uid, asked.judged(token), self._clock.now_ns()
        )
        if not candidates.nodes:
            return RemainingCandidates(candidates.token, "", None)
        body = await self._pods.pending(pod)
        if isinstance(body, Failed):
            return body
        if body is None:  # the engine reports that the pod is gone
            return RemainingCandidates(candidates.token, "", [])
        trimming = Trimming(body, candidates, located=self._located, read=self._pods.victim)
        return await trimming.ask(clients)

    async def _located(self, uids: list[str]) -> list[Located]:
        return await self._thread.call(self._thread.engine.located, uids)


@dataclass(slots=True)
class _Pod:
    pod: Attempt
    requested: frozenset[str]


class ExtendedPods:
    """Run it as a task. `work` is set when there may be pods to decide."""

    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        consequences: Consequences,
        *,
        in_force: ExtendersInForce,
        two_steps: TwoSteps,
        binds: ExtenderBinds,
    ) -> None:
        self.in_force = in_force
        self._thread = runtime.engine
        self._clock = runtime.clock
        self._queue = feed.queue
        self._signals = feed.signals
        self._consequences = consequences
        self._two_steps = two_steps
        self._binds = binds
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, int, int, _Pod]] = []
        self._asking = 0
        self._stopped = False

    @property
    def under_way(self) -> int:
        """How many pods wait for extenders, or are being asked about."""
        return len(self._waiting) + self._asking

    def stop(self) -> None:
        """Asks about no more pods. Answers that still arrive lead to binds."""
        self._stopped = True

    async def take(self, batch: list[Attempt]) -> list[Attempt]:
        """Keeps the pods that an extender is interested in, and returns the others."""
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
            waiting = _Pod(pod, frozenset(names))
            if _interested(extenders, waiting):
                kept.add(pod.uid)
                entry = (-pod.priority, pod.timestamp_ns, next(self._tickets), waiting)
                heapq.heappush(self._waiting, entry)
        self._signals.to_ask_extenders.set()
        return [pod for pod in batch if pod.uid not in kept]

    async def run(self, group: asyncio.TaskGroup, pulse: Pulse = NO_PULSE) -> None:
        work = self._signals.to_ask_extenders
        while True:
            work.clear()
            while (
                self._waiting
                and not self._stopped
                and self._asking < limits.EXTENDED_PODS_MAX
                and self._consequences.room > 0
            ):
                *_, waiting = heapq.heappop(self._waiting)
                if self._queue.is_under_way(waiting.pod):
                    self._asking += 1
                    group.create_task(self._decide(waiting, group), name="extenders")
            pulse.rest(work.is_set)
            await work.wait()

    # --- one pod ---------------------------------------------------------------------------------

    async def _decide(self, waiting: _Pod, group: asyncio.TaskGroup) -> None:
        pod_try = self._consequences.begin(waiting.pod)
        about(pod_try)
        try:
            for _ in range(limits.EXTENDED_TRIES_MAX):
                if await self._try(waiting, pod_try, group):
                    return
            await self._fail(pod_try, group, "the cluster changed while extenders were asked")
        finally:
            self._asking -= 1
            self._signals.work_came()

    async def _try(self, waiting: _Pod, pod_try: PodTry, group: asyncio.TaskGroup) -> bool:
        """Returns False if the answers are out of date."""
        extenders = self.in_force.now
        clients = _interested(extenders, waiting)
        answers = await self._two_steps.ask(pod_try, clients)
        if answers is None:
            self._queue.gone(waiting.pod.uid)
            return True
        if answers.asked.error:
            await self._fail(pod_try, group, answers.asked.error)
            return True
        async with self._signals.deciding:
            if self.in_force.now is not extenders:
                return False
            basis = await self._two_steps.basis()
            decision = await self._two_steps.choose(waiting.pod.uid, answers, basis)
            if decision.verdict == Verdict.STALE:
                return False
            if decision.verdict == Verdict.PLACED:
                self._binds.expect(waiting.pod.uid, clients)
            self._act(pod_try, group, decision, basis)
        return True

    async def _fail(self, pod_try: PodTry, group: asyncio.TaskGroup, why: str) -> None:
        self._act(pod_try, group, _failed(pod_try.pod, why), await self._two_steps.basis())

    def _act(
        self, pod_try: PodTry, group: asyncio.TaskGroup, decision: Decision, basis: Basis
    ) -> None:
        batch_outcome = take(self._queue, [pod_try.pod], [decision], self._clock.monotonic_ns())
        self._consequences.act(batch_outcome, basis, group, pod_try)


def _interested(extenders: Extenders, waiting: _Pod) -> list[ExtenderClient]:
    own = extenders.by_profile.get(waiting.pod.profile, ())
    return [client for client in own if client.is_interested(waiting.requested)]


def _failed(pod: Attempt, message: str) -> Decision:
    """The decision of a cycle that an extender ended with an error."""
    return Decision(
        Verdict.FAILED,
        pod.uid,
        pod.namespace,
        pod.name,
        "",
        message,
        0,
        0,
        0,
        0,
        0,
        0,
        "",
        [],
        [],
        [],
        [],
    )
