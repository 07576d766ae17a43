"""Decides one pod with extenders: the engine filters, the extenders answer, the engine chooses.

Other pods are decided meanwhile, so the choice checks the nodes again. It is STALE when none of
those that the extenders were asked about is feasible any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kpolicy.clock import Clock
from kpolicy.engine import Decision, Filtered, LeftRoom, Located, Verdict
from kpolicy.scheduler.extenders.asking import Asked, Subject, ask
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Failed
from kpolicy.scheduler.extenders.trimming import Sources, Trimming
from kpolicy.scheduler.extenders.whole_objects import FreshPods
from kpolicy.scheduler.loop.decide import Basis
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.pod_try import PodTry
from kpolicy.scheduler.loop.queued_pod import Attempt


class WholeNodes(Protocol):
    async def whole(self) -> dict[str, bytes] | str:
        """Every node, or why they are not to be had."""
        ...


@dataclass(frozen=True, slots=True)
class Answers:
    """`left`: what they leave of the candidates for a preemption, if any has a say in that."""

    first: Filtered
    asked: Asked
    left: LeftRoom | None = None


class TwoSteps:
    def __init__(
        self, thread: EngineThread, pods: FreshPods, nodes: WholeNodes, clock: Clock
    ) -> None:
        self._thread = thread
        self._pods = pods
        self._nodes = nodes
        self._clock = clock

    async def ask(self, pod_try: PodTry, clients: Sequence[ExtenderClient]) -> Answers | None:
        """None: the pod is gone."""
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
        """STALE: what was asked about is out of date."""
        decision = await self._choose(uid, answers.first.token, answers, basis)
        if decision.verdict == Verdict.STALE:
            again = await self._filter(uid)
            if set(again.feasible) <= set(answers.first.feasible):  # nothing that was not asked
                decision = await self._choose(uid, again.token, answers, basis)
        return decision

    async def basis(self) -> Basis:
        """What a decision rests on, had of an empty batch."""
        now_ns, monotonic_ns = self._clock.now_ns(), self._clock.monotonic_ns()
        empty = await self._thread.call(self._thread.engine.schedule, [], now_ns)
        return Basis(empty.program_hash, empty.resource_version, now_ns, monotonic_ns)

    async def _filter(self, uid: str) -> Filtered:
        return await self._thread.call(self._thread.engine.filter, uid, self._clock.now_ns())

    async def _choose(self, uid: str, token: int, answers: Answers, basis: Basis) -> Decision:
        asked, left = answers.asked, answers.left
        if left is not None:
            return await self._thread.call(
                self._thread.engine.preempt,
                uid,
                token,
                asked.kept,
                asked.refused,
                basis.started_ns,
                left=left,
            )
        return await self._thread.call(
            self._thread.engine.choose, uid, token, asked.kept, asked.refused, basis.started_ns
        )

    async def _ask(
        self, clients: Sequence[ExtenderClient], pod: Attempt, nodes: Sequence[str]
    ) -> Asked | None:
        """None: the pod is gone."""
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
    ) -> LeftRoom | Failed:
        """What extenders leave of the candidates; or the pod could not be read."""
        candidates = await self._thread.call(
            self._thread.engine.candidates,
            pod.uid,
            token,
            asked.kept,
            asked.refused,
            self._clock.now_ns(),
        )
        if not candidates.nodes:
            return LeftRoom(candidates.token, "", None)
        body = await self._pods.pending(pod)
        if isinstance(body, Failed):
            return body
        if body is None:  # who is gone is told so by the engine
            return LeftRoom(candidates.token, "", [])
        trimming = Trimming(body, candidates, Sources(self._located, self._pods.victim))
        return await trimming.ask(clients)

    async def _located(self, uids: list[str]) -> list[Located]:
        return await self._thread.call(self._thread.engine.located, uids)
