"""One trace for each attempt to place a pod, built when the attempt is over.

Owns the shape of the trace and its attributes: `schedule pod` with `filter`, `score` and `bind`
below it. Assumes timestamps taken elsewhere, wall clock in nanoseconds; nothing is measured here.
Without an exporter no object of the SDK exists and `Traces.begin` is one comparison.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.telemetry import limits
from kpolicy.telemetry.sampling import Judge, Sampling

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.util.types import AttributeValue

    from kpolicy.telemetry.pipeline import Pipeline

SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The ids of a trace to come; `span_id` is that of the bind, whom the API server sees."""

    trace_id: int
    span_id: int
    sampled: bool

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(self.sampled):02x}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything about one attempt; times are wall nanoseconds, 0 for what did not happen."""

    namespace: str
    name: str
    uid: str
    profile: str
    result: str
    attempts: int
    wait_ns: int
    started_ns: int
    filter_ns: int
    score_ns: int
    ended_ns: int
    post_filter_ns: int = 0
    bind_started_ns: int = 0
    node: str = ""
    score: int = 0
    nodes_total: int = 0
    nodes_feasible: int = 0
    message: str = ""
    rejected_by: tuple[str, ...] = ()
    policy_hash: str = ""
    snapshot_version: str = ""
    decision_id: str = ""

    def attributes(self) -> dict[str, AttributeValue]:
        """Subject keys are Kubernetes' semantic conventions, ours begin with `kpolicy.`."""
        attributes: dict[str, AttributeValue] = {
            "k8s.namespace.name": self.namespace,
            "k8s.pod.name": self.name,
            "k8s.pod.uid": self.uid,
            "kpolicy.profile": self.profile,
            "kpolicy.result": self.result,
            "kpolicy.attempt": self.attempts,
            "kpolicy.queue.wait_ms": self.wait_ns // 1_000_000,
            "kpolicy.policy.hash": self.policy_hash,
            "kpolicy.snapshot.resource_version": self.snapshot_version,
            "kpolicy.nodes.total": self.nodes_total,
            "kpolicy.nodes.feasible": self.nodes_feasible,
        }
        if self.node:
            attributes["k8s.node.name"] = self.node
            attributes["kpolicy.score"] = self.score
        if self.decision_id:
            attributes["kpolicy.decision.id"] = self.decision_id
        if self.message:
            attributes["kpolicy.message"] = self.message[: limits.TRACE_MESSAGE_CHARACTERS_MAX]
        if self.rejected_by:
            attributes["kpolicy.rejected_by"] = self.rejected_by
        return attributes


class Traces:
    """Judges and builds traces. `stop` gives the exporter two seconds, whatever it does."""

    def __init__(
        self,
        exporters: tuple[SpanExporter, ...] = (),
        sampling: Sampling | None = None,
        random: Random | None = None,
        resource: Mapping[str, str] | None = None,
    ) -> None:
        self.enabled = bool(exporters)
        self._judge = Judge(sampling or Sampling())
        self._random = random or Random()
        self._pipeline: Pipeline | None = None
        if exporters:
            from kpolicy.telemetry import pipeline  # noqa: PLC0415  0.2 s of imports

            self._pipeline = pipeline.Pipeline(exporters, resource or {})

    @property
    def dropped(self) -> int:
        return self._judge.dropped

    def begin(self, now_ns: int) -> TraceContext | None:
        """Ids for an attempt that others will hear of before it ends; None when traces are off."""
        if self._pipeline is None:
            return None
        trace_id = self._random.getrandbits(128) or 1
        span_id = self._random.getrandbits(64) or 1
        return TraceContext(trace_id, span_id, self._judge.sampled(trace_id, now_ns))

    def record(self, attempt: Attempt, context: TraceContext | None = None) -> TraceContext | None:
        """The attempt is over: build its spans if they are to be kept."""
        if self._pipeline is None:
            return None
        context = context or self.begin(attempt.started_ns)
        assert context is not None
        if not context.sampled and not self._judge.kept_anyway(
            failed=attempt.result != SCHEDULED, slow=is_slow(attempt), now_ns=attempt.started_ns
        ):
            return None
        self._pipeline.emit(attempt, context)
        return context

    def stop(self, seconds_max: float = limits.TRACE_FLUSH_S) -> bool:
        """Export what waits; False when the collector did not take it in time."""
        if self._pipeline is None:
            return True
        thread = threading.Thread(
            target=self._pipeline.shutdown, name="kpolicy-trace-flush", daemon=True
        )
        thread.start()
        thread.join(seconds_max)
        return not thread.is_alive()


def is_slow(attempt: Attempt) -> bool:
    decided_ns = attempt.filter_ns + attempt.score_ns + attempt.post_filter_ns
    whole_ns = attempt.ended_ns - attempt.started_ns
    return decided_ns > limits.SLOW_CYCLE_NS or whole_ns > limits.SLOW_ATTEMPT_NS
