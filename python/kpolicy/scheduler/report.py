"""What the world is told of an attempt: condition, event, metrics, trace, log.

Owns the order and the wording. Assumes writers that never make their caller wait. Must not decide:
everything told here has happened.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from kpolicy.clock import Clock
from kpolicy.cluster.events import EventRecorder, Occurrence, Reference
from kpolicy.cluster.eviction import Eviction
from kpolicy.cluster.pod_condition import ConditionReason, PodCondition
from kpolicy.cluster.pod_status import PodStatusWriter
from kpolicy.scheduler.decide import Placement, Rejection
from kpolicy.scheduler.queued_pod import QueuedPod
from kpolicy.scheduler.room import Plan, Room, was_tried
from kpolicy.telemetry.attempt import (
    ERROR,
    SCHEDULED,
    UNSCHEDULABLE,
    Attempt,
    TraceContext,
)
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces

_log = logging.getLogger(__name__)

_RESULTS = {
    ConditionReason.UNSCHEDULABLE: UNSCHEDULABLE,
    ConditionReason.SCHEDULER_ERROR: ERROR,
}


@dataclass(frozen=True, slots=True)
class Basis:
    """What the decisions of one batch rest on. Wall and monotonic time of the engine call."""

    policy_hash: str
    snapshot_version: str
    started_ns: int
    started_monotonic_ns: int


@dataclass(slots=True)
class Tally:
    """Since the last line in the log."""

    placed: int = 0
    parked: int = 0
    failed: int = 0

    def empty(self) -> bool:
        return not (self.placed or self.parked or self.failed)


@dataclass(slots=True)
class Reporter:
    clock: Clock
    events: EventRecorder
    status: PodStatusWriter
    metrics: SchedulerMetrics
    traces: Traces
    tally: Tally = field(default_factory=Tally)

    def left(self, uid: str) -> None:
        """The pod needs us no more: what waits to be written about it is not written."""
        self.status.forget(uid)

    def rejected(self, rejection: Rejection, basis: Basis) -> None:
        pod, decision = rejection.pod, rejection.decision
        result = _RESULTS[rejection.reason]
        # Where no node is held for the pod, an earlier nomination is void.
        self._tell(
            pod, rejection.reason, decision.message, decision.nominated_node,
            urgent=bool(decision.victims),
        )  # fmt: skip
        if was_tried(decision):
            self.metrics.preemption_attempts.add()
        took_ns = decision.took_ns
        self.metrics.attempted(result, pod.profile, took_ns / 1e9)
        for rule in decision.rejected_by:
            self.metrics.rule_rejections.add((pod.profile, rule))
        if result == ERROR:
            self.tally.failed += 1
        else:
            self.tally.parked += 1
        if self.traces.enabled:
            started_ns = basis.started_ns + rejection.offset_ns
            self.traces.record(
                _attempt(
                    rejection,
                    basis,
                    result,
                    decision.message,
                    started_ns=started_ns,
                    ended_ns=started_ns + took_ns,
                )
            )
        level = logging.WARNING if result == ERROR else logging.DEBUG
        if _log.isEnabledFor(level):
            _log.log(
                level,
                "no node for %s",
                pod.key,
                extra={"pod_uid": pod.uid, "result": result, "reason": decision.message},
            )

    def bound(
        self, placement: Placement, basis: Basis, bind: BindTimes, context: TraceContext | None
    ) -> None:
        pod, node = placement.pod, placement.decision.node
        self.events.scheduled(_reference(pod), node, pod.profile)
        self.left(pod.uid)
        self.tally.placed += 1
        took_s = (bind.ended_monotonic_ns - basis.started_monotonic_ns) / 1e9
        waited_s = (bind.ended_monotonic_ns - pod.first_active_ns) / 1e9
        self.metrics.attempted(SCHEDULED, pod.profile, took_s)
        self.metrics.placed(pod.attempts, waited_s, rescued=placement.rescued)
        if context is not None:
            attempt = _bind_attempt(placement, basis, bind, SCHEDULED, "")
            self.traces.record(attempt, context)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("bound %s to %s", pod.key, node, extra=_fields(placement, basis, context))

    def bind_failed(
        self,
        placement: Placement,
        message: str,
        basis: Basis,
        bind: BindTimes,
        context: TraceContext | None,
    ) -> None:
        """Nothing is told in the pod's status when the message is empty: it is not our pod."""
        pod = placement.pod
        self.tally.failed += 1
        took_s = (bind.ended_monotonic_ns - basis.started_monotonic_ns) / 1e9
        self.metrics.attempted(ERROR, pod.profile, took_s)
        if context is not None:
            self.traces.record(_bind_attempt(placement, basis, bind, ERROR, message), context)
        if message:
            self._tell(pod, ConditionReason.SCHEDULER_ERROR, message, "")
            _log.warning("%s: %s", pod.key, message, extra=_fields(placement, basis, context))

    def preempted(self, plan: Plan, eviction: Eviction, *, in_memory: bool = False) -> None:
        """A victim was told to go, or taken back before anybody knew of it."""
        pod = plan.pod
        victim = Reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(
            Occurrence(
                victim, "Normal", "Preempted", "Preempting", plan.note(in_memory=in_memory),
                pod.profile,
                related=_reference(pod), once=True,
            )
        )  # fmt: skip
        fields = {"pod_uid": eviction.uid, "node": plan.node, "preemptor_uid": pod.uid}
        _log.info("evicted %s to make room for %s", eviction.key, pod.key, extra=fields)

    def room_settled(self, room: Room, seconds: float, *, is_waiting: bool) -> None:
        """Nothing is told of a pod that left, nor by one who may not lead any more."""
        pod = room.plan.pod
        self.metrics.room_made(seconds, succeeded=room.is_made)
        if room.trouble and is_waiting:
            message = f"preemption on {room.plan.node} failed: {room.trouble}"
            self._tell(pod, ConditionReason.SCHEDULER_ERROR, message, "")
            fields = {"pod_uid": pod.uid, "node": room.plan.node}
            _log.warning("%s: %s", pod.key, message, extra=fields)

    def _tell(
        self,
        pod: QueuedPod,
        reason: ConditionReason,
        message: str,
        nominated: str,
        *,
        urgent: bool = False,
    ) -> None:
        condition = PodCondition(pod.namespace, pod.name, pod.uid, reason, message, nominated)
        self.status.set(condition, urgent=urgent)
        self.events.failed_scheduling(_reference(pod), message, pod.profile)


@dataclass(slots=True)
class BindTimes:
    """Of one bind; wall nanoseconds unless said otherwise."""

    decision_id: str
    decided_ns: int
    started_ns: int = 0
    ended_ns: int = 0
    ended_monotonic_ns: int = 0

    def end(self, clock: Clock) -> None:
        self.ended_ns = clock.now_ns()
        self.ended_monotonic_ns = clock.monotonic_ns()


def _bind_attempt(
    placement: Placement, basis: Basis, bind: BindTimes, result: str, message: str
) -> Attempt:
    return _attempt(
        placement,
        basis,
        result,
        message,
        started_ns=basis.started_ns + placement.offset_ns,
        ended_ns=bind.ended_ns,
        bind_started_ns=bind.started_ns,
        decision_id=bind.decision_id,
    )


def _attempt(
    subject: Placement | Rejection,
    basis: Basis,
    result: str,
    message: str,
    *,
    started_ns: int,
    ended_ns: int,
    bind_started_ns: int = 0,
    decision_id: str = "",
) -> Attempt:
    pod, decision = subject.pod, subject.decision
    return Attempt(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        profile=pod.profile,
        result=result,
        attempts=pod.attempts,
        wait_ns=pod.waited_ns,
        started_ns=started_ns,
        filter_ns=decision.filter_ns,
        post_filter_ns=decision.post_filter_ns,
        score_ns=decision.score_ns,
        ended_ns=ended_ns,
        bind_started_ns=bind_started_ns,
        node=decision.node,
        score=decision.score,
        nodes_total=decision.nodes_total,
        nodes_feasible=decision.nodes_feasible,
        message=message,
        rejected_by=tuple(decision.rejected_by),
        policy_hash=basis.policy_hash,
        snapshot_version=basis.snapshot_version,
        decision_id=decision_id,
    )


def _reference(pod: QueuedPod) -> Reference:
    return Reference(pod.namespace, pod.name, pod.uid)


def _fields(placement: Placement, basis: Basis, context: TraceContext | None) -> dict[str, object]:
    fields: dict[str, object] = {
        "pod_uid": placement.pod.uid,
        "node": placement.decision.node,
        "policy_hash": basis.policy_hash,
    }
    if context is not None:
        fields["trace_id"] = f"{context.trace_id:032x}"
    return fields
