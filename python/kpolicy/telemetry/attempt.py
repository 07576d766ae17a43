"""One attempt to place a pod, as it is told in a trace.

Owns what is told of it, under which names, and when it counts as slow. Assumes timestamps taken
elsewhere, wall clock in nanoseconds; nothing is measured here. Must not know the SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kpolicy.telemetry import limits

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

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


def is_slow(attempt: Attempt) -> bool:
    decided_ns = attempt.filter_ns + attempt.score_ns + attempt.post_filter_ns
    whole_ns = attempt.ended_ns - attempt.started_ns
    return decided_ns > limits.SLOW_CYCLE_NS or whole_ns > limits.SLOW_ATTEMPT_NS
