"""Acts on the engine's decisions: moves pods in the queue, starts binds and preemptions, reports.

`take` moves the pods of a batch and lists what must follow; `Consequences` begins that, and waits
for nothing that it starts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kpolicy.cluster.writes.claim_state import ClaimUser
from kpolicy.cluster.writes.claim_writer import ClaimNotWritten, ClaimWriter
from kpolicy.cluster.writes.pod_status import ConditionReason
from kpolicy.engine import ClaimRelease, Decision, HeldPod, Verdict
from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.loop.decided_batch import into_lanes
from kpolicy.scheduler.loop.pod_try import Basis, Placement, PodTry, Rejection
from kpolicy.scheduler.loop.policy_order import FailedRule
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.runtime import Runtime

_log = logging.getLogger(__name__)

# Verdicts that are reported as the pod's condition, and its reason.
_REPORTED: Final = {
    Verdict.PARKED: ConditionReason.UNSCHEDULABLE,
    Verdict.FAILED: ConditionReason.SCHEDULER_ERROR,
    Verdict.SET_ASIDE: ConditionReason.TOO_MUCH_WORK,
}


def _reason(decision: Decision) -> ConditionReason | None:
    """None: it is not reported."""
    verdict = Verdict(decision.verdict)
    if verdict is Verdict.PARKED and not decision.is_helped_by_node:
        return ConditionReason.REJECTED_BY_POLICY
    return _REPORTED.get(verdict)


@dataclass(slots=True)
class DecidedBatch:
    placements: list[Placement] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    took_ns: int = 0  # the engine's own time for all of them


def take(
    queue: Queue, batch: Sequence[Attempt], decisions: Sequence[Decision], now_ns: int
) -> DecidedBatch:
    """Puts each pod of the batch into the lane that follows from its decision.

    A pod may leave the queue while the engine decides. If it was placed, it is bound nevertheless:
    only the API server knows which came first, and its reservation must end."""
    batch_outcome = DecidedBatch(took_ns=sum(decision.took_ns for decision in decisions))
    for pod, decision, began_ns in into_lanes(queue, batch, decisions, now_ns):
        if decision.verdict == Verdict.PLACED:
            batch_outcome.placements.append(Placement(pod, decision, began_ns))
        if (reason := _reason(decision)) is not None:
            batch_outcome.rejections.append(Rejection(pod, decision, began_ns, reason))
    return batch_outcome


class Consequences:
    def __init__(
        self,
        runtime: Runtime,
        reservations: Reservations,
        reporter: Reporter,
        *,
        binds: Binds,
        preemptions: Preemptions,
        claims: ClaimWriter,
    ) -> None:
        self._metrics = runtime.metrics
        self._reservations = reservations
        self._reporter = reporter
        self._binds = binds
        self._preemptions = preemptions
        self._claims = claims

    @property
    def room(self) -> int:
        """How many pods may be placed now."""
        return self._reservations.room

    @property
    def under_way(self) -> bool:
        """Whether a bind or a preemption that followed from a decision has not ended yet."""
        return bool(self._reservations.under_way or self._preemptions.under_way)

    def begin(self, pod: Attempt) -> PodTry:
        return self._reporter.begin(pod)

    def held(self, pod: Attempt, held: HeldPod) -> None:
        self._reporter.held(pod, held)

    def failed(self, failed: FailedRule) -> None:
        self._reporter.rule_failed(failed)

    def act(
        self,
        batch_outcome: DecidedBatch,
        basis: Basis,
        group: asyncio.TaskGroup,
        pod_try: PodTry | None = None,
    ) -> None:
        """`pod_try` is the attempt of a single pod that began before its decision."""
        reporter, metrics = self._reporter, self._metrics
        for placement in batch_outcome.placements:
            metrics.decided(placement.decision)
            tried = reporter.decided(placement, basis, pod_try)
            self._binds.start(placement, basis, tried, group)
        for rejection in batch_outcome.rejections:
            metrics.decided(rejection.decision)
            tried = reporter.decided(rejection, basis, pod_try)
            reporter.rejected(rejection, basis, tried)
            if rejection.decision.victims:
                self._preemptions.start(rejection, tried, group)
            for write in rejection.decision.writes:
                if isinstance(write, ClaimRelease):
                    group.create_task(self._give_up(rejection.pod, write))

    async def _give_up(self, pod: Attempt, release: ClaimRelease) -> None:
        """The change of the claim wakes the pod. If the write fails, the pod is tried again after
        the next event."""
        user = ClaimUser(pod.namespace, pod.name, pod.uid)
        outcome = await self._claims.give_up(
            user, release.claim, release.claim_uid, to_delete=release.to_delete
        )
        if isinstance(outcome, ClaimNotWritten) and not outcome.is_fenced:
            _log.warning(
                "could not give up claim %s/%s for pod %s: %s",
                pod.namespace,
                release.claim,
                pod.name,
                outcome.message,
            )
