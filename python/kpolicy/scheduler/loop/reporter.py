"""Reports the outcome of each attempt: condition, event, metrics, trace and log.

Its writers never make the caller wait. Everything that is reported has happened already.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from kpolicy.cluster.writes.event_recorder import EventRecorder, Occurrence, Reference
from kpolicy.cluster.writes.evictor import Eviction
from kpolicy.cluster.writes.pod_status import ConditionReason, PodCondition, PodStatusWriter
from kpolicy.engine import HeldPod
from kpolicy.scheduler.loop.pod_try import Basis, Placement, PodLog, PodTry, Rejection
from kpolicy.scheduler.loop.policy_order import FailedRule
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.preemption.room import Plan, Room, was_tried
from kpolicy.scheduler.runtime import Runtime
from kpolicy.telemetry.attempt import ERROR, SCHEDULED, UNSCHEDULABLE, Step

_log = PodLog(__name__)

# The pod was bound by another scheduler, is gone, or belongs to the next leader.
_NOT_OURS = "the pod was not ours to bind any more"
# What the engine calls the order of the queue among rules.
_ORDER = "queue.order"
_RESULTS = {
    ConditionReason.UNSCHEDULABLE: UNSCHEDULABLE,
    ConditionReason.REJECTED_BY_POLICY: UNSCHEDULABLE,
    ConditionReason.TOO_MUCH_WORK: UNSCHEDULABLE,
    ConditionReason.SCHEDULER_ERROR: ERROR,
}


class Reporter:
    """Nothing here waits: writers queue what they write. `policies` names those in force."""

    def __init__(
        self,
        runtime: Runtime,
        queue: Queue,
        *,
        events: EventRecorder,
        status: PodStatusWriter,
        run_id: str,
        policies: Callable[[], tuple[str, ...]],
    ) -> None:
        self.events = events
        self.status = status
        # Placed, parked and failed pods since the last summary in the log.
        self.tally: Counter[str] = Counter()
        self._runtime = runtime
        self._queue = queue
        self._run_id = run_id
        self._policies = policies
        self._decisions = 0

    def begin(self, pod: Attempt) -> PodTry:
        """Begins an attempt, with the ids of its trace and log lines."""
        self._decisions += 1
        now_ns = self._runtime.clock.now_ns()
        decision_id = f"{self._run_id}-{self._decisions}"
        return PodTry(pod, decision_id, self._runtime.traces.begin(now_ns), now_ns)

    def decided(
        self, subject: Placement | Rejection, basis: Basis, pod_try: PodTry | None = None
    ) -> PodTry:
        """A decision that is acted on now, under the policies in force."""
        if pod_try is None:
            pod_try = self.begin(subject.pod)
        else:
            pod_try.decided_ns = self._runtime.clock.now_ns()
        pod_try.policies, pod_try.policy_hash = self._policies(), basis.policy_hash
        pod_try.node = subject.decision.node
        return pod_try

    def rejected(self, rejection: Rejection, basis: Basis, pod_try: PodTry) -> None:
        pod, decision = rejection.pod, rejection.decision
        result = _RESULTS[rejection.reason]
        # If no node is reserved for the pod, an earlier nomination is void.
        self._report_failure(
            pod,
            rejection.reason,
            decision.message,
            decision.nominated_node,
            urgent=bool(decision.victims),
        )
        if was_tried(decision):
            self._runtime.metrics.preemption_attempts.add()
        self._runtime.metrics.attempted(result, pod.profile, decision.took_ns / 1e9)
        metrics = self._runtime.metrics
        for rule in metrics.rule_labels.distinct(decision.rejected_by):
            metrics.rule_rejections.add((pod.profile, rule))
        self.tally["failed" if result == ERROR else "parked"] += 1
        pod_try.ended_ns = basis.started_ns + rejection.offset_ns + decision.took_ns
        self._trace(rejection, basis, pod_try, result)
        level = logging.WARNING if result == ERROR else logging.DEBUG
        if _log.isEnabledFor(level):
            _log.log(
                level,
                "no node for %s",
                pod.key,
                extra={**pod_try.fields(), "result": result, "reason": decision.message},
            )

    def held(self, pod: Attempt, held: HeldPod) -> None:
        """A hold of the policy keeps the pod from being tried."""
        self._report_failure(pod, held.reason, held.message, "")
        self.tally["held"] += 1
        _log.debug("%s is held by %s: %s", pod.key, held.hold, held.message)

    def rule_failed(self, failed: FailedRule) -> None:
        """The order of the queue or a hold failed; told once for pods that are alike."""
        fault = failed.fault
        what = "has no place in the order" if fault.rule == _ORDER else "is held"
        fields = {
            "code": fault.code,
            "rule": fault.rule,
            "pod": failed.pod,
            "hint": f"kpolicy rule {fault.code} explains it; /debug/queue lists such rules",
        }
        text = "%s could not be evaluated, so that %s, and each pod like it, %s: %s"
        _log.warning(text, fault.rule, failed.pod, what, fault.message, extra=fields)

    def bound(self, placement: Placement, basis: Basis, pod_try: PodTry) -> None:
        pod, node = placement.pod, placement.decision.node
        self.events.scheduled(_reference(pod), node, pod.profile)
        self.status.forget(pod.uid)
        self.tally["placed"] += 1
        took_s = (pod_try.ended_monotonic_ns - basis.started_monotonic_ns) / 1e9
        waited_s = (pod_try.ended_monotonic_ns - pod.first_active_ns) / 1e9
        self._runtime.metrics.attempted(SCHEDULED, pod.profile, took_s)
        self._runtime.metrics.placed(pod.attempts, waited_s, rescued=pod.is_flushed)
        self._trace(placement, basis, pod_try, SCHEDULED)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("bound %s to %s", pod.key, node, extra=pod_try.fields())

    def bind_failed(
        self,
        placement: Placement,
        message: str,
        basis: Basis,
        pod_try: PodTry,
        *,
        is_refused: bool = False,
    ) -> None:
        """With an empty message the pod's status is not written: another scheduler has the pod.
        `is_refused`: by a plugin, which is no failure."""
        pod = placement.pod
        reason = ConditionReason.UNSCHEDULABLE if is_refused else ConditionReason.SCHEDULER_ERROR
        result = _RESULTS[reason]
        self.tally["parked" if is_refused else "failed"] += 1
        took_s = (pod_try.ended_monotonic_ns - basis.started_monotonic_ns) / 1e9
        self._runtime.metrics.attempted(result, pod.profile, took_s)
        self._trace(placement, basis, pod_try, result, message or _NOT_OURS)
        if message:
            self._report_failure(pod, reason, message, "")
            level = logging.DEBUG if is_refused else logging.WARNING
            _log.log(level, "%s: %s", pod.key, message, extra=pod_try.fields())

    def preempted(self, plan: Plan, eviction: Eviction, *, in_memory: bool = False) -> None:
        """A victim was evicted, or its placement withdrawn before the bind. In the log, `pod` is
        the victim, and the ids are those of the preemptor's attempt."""
        pod = plan.pod
        victim = Reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(
            Occurrence(
                victim,
                "Normal",
                "Preempted",
                "Preempting",
                plan.note(in_memory=in_memory),
                pod.profile,
                related=_reference(pod),
                once=True,
            )
        )
        fields = {
            "pod": eviction.key,
            "pod_uid": eviction.uid,
            "node": plan.node,
            "preemptor": pod.key,
            "preemptor_uid": pod.uid,
        }
        _log.info("evicted %s to make room for %s", eviction.key, pod.key, extra=fields)

    def room_settled(self, room: Room, seconds: float) -> None:
        """Reports the end of a preemption. A failure is not reported if the pod left, or if this
        replica no longer leads."""
        pod = room.plan.pod
        self._runtime.metrics.room_made(seconds, succeeded=room.is_made)
        if room.is_displaced:
            why = "preemption ended: a pod of higher priority takes the room"
            _log.info("%s: %s", pod.key, why, extra={"node": room.plan.node})
        if room.trouble and self._queue.get(pod.uid) is not None:
            message = f"preemption on {room.plan.node} failed: {room.trouble}"
            self._report_failure(pod, ConditionReason.SCHEDULER_ERROR, message, "")
            _log.warning("%s: %s", pod.key, message, extra={"node": room.plan.node})

    def followed(self, step: Step, pod_try: PodTry) -> None:
        """Adds a later step, the preemption, to the trace of the attempt."""
        if pod_try.trace is not None and pod_try.is_kept:
            self._runtime.traces.add(step, pod_try.trace)

    def _trace(
        self,
        subject: Placement | Rejection,
        basis: Basis,
        pod_try: PodTry,
        result: str,
        failure: str = "",
    ) -> None:
        if pod_try.trace is None:
            return
        pod_try.is_kept = self._runtime.traces.keeps(
            pod_try.trace,
            failed=result != SCHEDULED,
            slow=pod_try.is_slow(subject.decision),
            now_ns=pod_try.ended_ns,
        )
        if pod_try.is_kept:
            self._queue.traced(pod_try.pod.uid, pod_try.trace)
            self._runtime.traces.record(
                pod_try.record(subject, basis, result, failure), pod_try.trace
            )

    def _report_failure(
        self,
        pod: Attempt,
        reason: str,
        message: str,
        nominated: str,
        *,
        urgent: bool = False,
    ) -> None:
        # A pod that left the queue meanwhile is bound or gone: a status requested now would be
        # remembered for ever.
        if self._queue.get(pod.uid) is not None:
            condition = PodCondition(
                pod.namespace,
                pod.name,
                pod.uid,
                reason,
                message,
                nominated,
                generation=pod.generation,
            )
            self.status.set(condition, urgent=urgent)
        self.events.failed_scheduling(_reference(pod), message, pod.profile)


def _reference(pod: Attempt) -> Reference:
    return Reference(pod.namespace, pod.name, pod.uid)
