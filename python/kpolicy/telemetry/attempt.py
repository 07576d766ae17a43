"""The content of a trace: one attempt to place a pod, its steps, and its ids.

Times are taken elsewhere (wall clock, nanoseconds). OpenTelemetry's SDK is not imported, as
attempts exist without tracing too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kpolicy.telemetry import limits

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"


class TraceContext(NamedTuple):
    """The ids of a trace: of the trace, of its root span and of the bind's span, which the API
    server sees. `sampled`: the trace is kept whatever the result. `crowded_out`: the sampler
    selects it, but there were more than the limits.

    A tuple, because one is made for every attempt and a frozen dataclass takes three times as long
    to make.
    """

    trace_id: int
    root_id: int
    bind_id: int
    sampled: bool
    crowded_out: bool = False

    @property
    def traceparent(self) -> str:
        flags = "01" if self.sampled else "00"
        return f"00-{self.trace_id:032x}-{self.bind_id:016x}-{flags}"

    def fields(self) -> dict[str, object]:
        """Return the ids as fields of a log line."""
        return {"trace_id": f"{self.trace_id:032x}", "span_id": f"{self.root_id:016x}"}


@dataclass(frozen=True, slots=True)
class Step:
    """A part of an attempt. `is_call`: it waited for another process. `span_id` is set if that
    process was sent the id."""

    name: str
    started_ns: int
    ended_ns: int
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    is_call: bool = False
    failure: str = ""
    span_id: int = 0
    children: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to place a pod. `previous` is the attempt before, if its trace was kept."""

    namespace: str
    name: str
    uid: str
    profile: str
    result: str
    attempts: int
    wait_ns: int
    started_ns: int
    ended_ns: int
    steps: tuple[Step, ...] = ()
    previous: TraceContext | None = None
    node: str = ""
    score: int = 0
    nodes_total: int = 0
    nodes_feasible: int = 0
    message: str = ""
    rejected_by: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    policy_hash: str = ""
    snapshot_version: str = ""
    # The time as rules saw it, a whole minute.
    decided_as_of: str = ""
    decision_id: str = ""

    def attributes(self) -> dict[str, AttributeValue]:
        """Return the attributes of the root span: Kubernetes' semantic conventions, and
        `kpolicy.*`."""
        attributes: dict[str, AttributeValue] = {
            "k8s.namespace.name": self.namespace,
            "k8s.pod.name": self.name,
            "k8s.pod.uid": self.uid,
            "kpolicy.profile": self.profile,
            "kpolicy.result": self.result,
            "kpolicy.attempt": self.attempts,
            "kpolicy.queue.wait_ms": self.wait_ns // 1_000_000,
            "kpolicy.policy.names": self.policies,
            "kpolicy.policy.hash": self.policy_hash,
            "kpolicy.snapshot.resource_version": self.snapshot_version,
            "kpolicy.decision.id": self.decision_id,
            "kpolicy.decision.time": self.decided_as_of,
            "kpolicy.nodes.total": self.nodes_total,
            "kpolicy.nodes.feasible": self.nodes_feasible,
        }
        if self.node:
            attributes["k8s.node.name"] = self.node
            attributes["kpolicy.score"] = self.score
        if self.message:
            attributes["kpolicy.message"] = self.message[: limits.TRACE_MESSAGE_CHARACTERS_MAX]
        if self.rejected_by:
            attributes["kpolicy.rejected_by"] = self.rejected_by
        return attributes
