"""One attempt to place a pod: what was decided, how its time was spent, the log lines about it.

The same `PodTry` goes with the attempt through extenders, decision, volumes, bind and evictions.
Times are wall nanoseconds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.api_times import api_time, whole_minute
from kpolicy.clock import Clock
from kpolicy.cluster.writes.pod_status import ConditionReason
from kpolicy.engine import Decision
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.telemetry.attempt import Attempt as AttemptRecord, Step, TraceContext
from kpolicy.telemetry.limits import SLOW_CALLS_NS, SLOW_CYCLE_NS


@dataclass(frozen=True, slots=True)
class Basis:
    """What the decisions of one batch are based on, and the wall and monotonic time of the engine
    call."""

    policy_hash: str
    snapshot_version: str
    started_ns: int
    started_monotonic_ns: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The engine has assumed the pod on the node. It ends with a bind, or with the reservation
    forgotten."""

    pod: Attempt
    decision: Decision
    offset_ns: int  # since the engine began with the batch


@dataclass(frozen=True, slots=True)
class Rejection:
    """An attempt without a node, to be reported in the pod's status and as an event."""

    pod: Attempt
    decision: Decision
    offset_ns: int
    reason: ConditionReason


@dataclass(slots=True)
class PodTry:
    """`is_kept`: its trace is exported, now or when the attempt is over."""

    pod: Attempt
    decision_id: str
    trace: TraceContext | None
    decided_ns: int
    is_kept: bool = field(init=False)
    policies: tuple[str, ...] = ()
    policy_hash: str = ""
    node: str = ""
    # Steps before the decision: questions to extenders.
    asked: list[Step] = field(default_factory=list)
    volumes_ns: tuple[int, int] = (0, 0)
    bind_started_ns: int = 0
    ended_ns: int = 0
    ended_monotonic_ns: int = 0

    def __post_init__(self) -> None:
        self.is_kept = self.trace is not None and self.trace.sampled

    def fields(self) -> dict[str, object]:
        """The fields of its log lines. They have the ids of the trace only if it is exported."""
        fields: dict[str, object] = {"pod": self.pod.key, "pod_uid": self.pod.uid}
        if self.node:
            fields["node"] = self.node
        if self.policy_hash:
            fields["policy_hash"] = self.policy_hash
        fields["decision_id"] = self.decision_id
        if self.trace is not None and self.is_kept:
            fields |= self.trace.fields()
        return fields

    @contextmanager
    def spending(self, clock: Clock, name: str, extenders: tuple[str, ...] = ()) -> Iterator[None]:
        """Records a step before the decision."""
        began_ns = clock.now_ns()
        try:
            yield
        finally:
            asked = {"kpolicy.extenders": extenders} if extenders else {}
            is_call = bool(extenders)
            self.asked.append(Step(name, began_ns, clock.now_ns(), asked, is_call=is_call))

    def end(self, clock: Clock) -> None:
        self.ended_ns = clock.now_ns()
        self.ended_monotonic_ns = clock.monotonic_ns()

    def is_slow(self, decision: Decision) -> bool:
        """Whether the attempt itself was slow. Time behind other pods does not count: in a burst,
        all pods wait."""
        return decision.took_ns > SLOW_CYCLE_NS or self._calls_ns > SLOW_CALLS_NS

    @property
    def _calls_ns(self) -> int:
        began_ns, ended_ns = self.volumes_ns
        calls_ns = ended_ns - began_ns
        if self.bind_started_ns:
            calls_ns += self.ended_ns - self.bind_started_ns
        asked = (step.ended_ns - step.started_ns for step in self.asked if step.is_call)
        return calls_ns + sum(asked)

    def record(
        self, subject: Placement | Rejection, basis: Basis, result: str, failure: str
    ) -> AttemptRecord:
        pod, decision = self.pod, subject.decision
        return AttemptRecord(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            profile=pod.profile,
            result=result,
            attempts=pod.attempts,
            wait_ns=pod.waited_ns,
            started_ns=self._started_ns(subject, basis),
            ended_ns=self.ended_ns,
            steps=tuple(self._steps(subject, basis, failure)),
            previous=pod.previous,
            node=self.node,
            score=decision.score,
            nodes_total=decision.nodes_total,
            nodes_feasible=decision.nodes_feasible,
            message=failure or decision.message,
            rejected_by=tuple(decision.rejected_by),
            policies=self.policies,
            policy_hash=self.policy_hash,
            snapshot_version=basis.snapshot_version,
            decided_as_of=api_time(whole_minute(basis.started_ns)),
            decision_id=self.decision_id,
        )

    def _started_ns(self, subject: Placement | Rejection, basis: Basis) -> int:
        return self.asked[0].started_ns if self.asked else basis.started_ns + subject.offset_ns

    def _steps(self, subject: Placement | Rejection, basis: Basis, failure: str) -> Iterator[Step]:
        yield from self.asked
        decision, cursor_ns = subject.decision, basis.started_ns + subject.offset_ns
        if self.asked and cursor_ns > self.asked[-1].ended_ns:
            yield Step("choice queue", self.asked[-1].ended_ns, cursor_ns)
        # shorter times are below the resolution of the clock
        scored_ns = decision.score_ns if decision.nodes_feasible else 0
        for name, duration_ns in (
            ("filter", decision.filter_ns),
            ("score", scored_ns),
            ("post_filter", decision.post_filter_ns),
        ):
            if duration_ns:
                yield Step(name, cursor_ns, cursor_ns + duration_ns)
                cursor_ns += duration_ns
        if isinstance(subject, Placement):
            yield from self._after(cursor_ns, subject, failure)

    def _after(self, cursor_ns: int, placement: Placement, failure: str) -> Iterator[Step]:
        """The steps after the decision. The node is reserved from then on, first while the rest of
        the batch is decided."""
        if self.decided_ns > cursor_ns:
            yield Step("reserve", cursor_ns, self.decided_ns)
            cursor_ns = self.decided_ns
        is_sent = bool(self.bind_started_ns)
        if self.volumes_ns[1]:
            count = {"kpolicy.volumes": len(placement.decision.volumes)}
            why = "" if is_sent else failure
            yield Step("volumes", *self.volumes_ns, count, is_call=True, failure=why)
            cursor_ns = self.volumes_ns[1]
        if not is_sent or self.trace is None:
            return
        if self.bind_started_ns > cursor_ns:
            yield Step("bind queue", cursor_ns, self.bind_started_ns)
        yield Step(
            "bind",
            self.bind_started_ns,
            self.ended_ns,
            {"k8s.node.name": self.node},
            is_call=True,
            failure=failure,
            span_id=self.trace.bind_id,
        )


_ABOUT: Final[ContextVar[PodTry | None]] = ContextVar("_ABOUT", default=None)


def about(pod_try: PodTry) -> None:
    """From here on, this task and the tasks that it starts log about this attempt."""
    _ABOUT.set(pod_try)


class PodLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines have the fields of the attempt."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name))

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        pod_try = _ABOUT.get()
        if pod_try is not None:
            kwargs["extra"] = {**pod_try.fields(), **(kwargs.get("extra") or {})}
        return msg, kwargs
