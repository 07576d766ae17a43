"""The plan of one preemption, and what became of it.

The order is kube-scheduler's: the nomination is written first, lower nominations are cleared, all
victims but the last are evicted together, and the last one at the end. The first victim that cannot
be evicted ends the preemption, so that no more pods go than must.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from kpolicy.cluster.writes.evictor import (
    AlreadyGone,
    AlreadyLeaving,
    Evicted,
    Eviction,
    EvictionFenced,
    EvictionOutcome,
    NotEvicted,
)
from kpolicy.engine import Decision
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.telemetry.attempt import Step

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

# After this text, kube-scheduler writes why preemption found no room.
_PREEMPTION = "preemption: "


@dataclass(frozen=True, slots=True)
class Plan:
    """`victims_total` also counts victims that are terminating already and need no eviction."""

    pod: Attempt
    node: str
    evictions: tuple[Eviction, ...]
    displaced: tuple[str, ...]
    victims_total: int

    @property
    def together(self) -> tuple[Eviction, ...]:
        """All victims except the last."""
        return self.evictions[:-1]

    @property
    def last(self) -> tuple[Eviction, ...]:
        return self.evictions[-1:]

    def note(self, *, in_memory: bool) -> str:
        """The text of the event on each victim, the same as kube-scheduler's."""
        note = f"Preempted by pod {self.pod.uid} on node {self.node}"
        return f"{note} (in kpolicy memory)." if in_memory else note


def plan(pod: Attempt, decision: Decision) -> Plan:
    message = f"{pod.profile}: preempting to accommodate a higher priority pod"
    evictions = tuple(
        Eviction(victim.namespace, victim.name, victim.uid, message, victim.generation)
        for victim in decision.victims
        if not victim.is_terminating
    )
    displaced = tuple(decision.displaced)
    return Plan(pod, decision.nominated_node, evictions, displaced, len(decision.victims))


def was_tried(decision: Decision) -> bool:
    """Whether the engine looked for room: `preemption_attempts_total` counts this."""
    return bool(decision.victims) or _PREEMPTION in decision.message


@dataclass(slots=True)
class Room:
    """The outcome of the preemption so far. `trouble` is the failure to report; a replica that may
    no longer act reports no failure."""

    plan: Plan
    evicted: list[str] = field(default_factory=list)
    is_over: bool = False
    # A pod of higher priority took the room.
    is_displaced: bool = False
    trouble: str = ""
    # How the time was spent, for the trace.
    steps: list[Step] = field(default_factory=list)

    @property
    def is_made(self) -> bool:
        return not self.is_over

    def take(self, eviction: Eviction, outcome: EvictionOutcome) -> None:
        match outcome:
            case Evicted():
                self.evicted.append(eviction.uid)
            case AlreadyGone() | AlreadyLeaving():
                pass
            case NotEvicted(message=message):
                self.give_up(f"evicting {eviction.key} failed: {message}")
            case EvictionFenced():
                self.give_up("")
            case _:
                assert_never(outcome)

    def spent(self, name: str, started_ns: int, ended_ns: int, failure: str = "") -> None:
        self.steps.append(Step(name, started_ns, ended_ns, is_call=True, failure=failure))

    def evicting(
        self, eviction: Eviction, outcome: EvictionOutcome, started_ns: int, ended_ns: int
    ) -> None:
        """The pod of this step is the victim."""
        failure = outcome.message if isinstance(outcome, NotEvicted) else ""
        victim: dict[str, AttributeValue] = {
            "k8s.namespace.name": eviction.namespace,
            "k8s.pod.name": eviction.name,
            "k8s.pod.uid": eviction.uid,
        }
        self.steps.append(
            Step("evict", started_ns, ended_ns, victim, is_call=True, failure=failure)
        )

    def step(self, started_ns: int, ended_ns: int) -> Step:
        on: dict[str, AttributeValue] = {
            "k8s.node.name": self.plan.node,
            "kpolicy.victims": self.plan.victims_total,
        }
        return Step(
            "make room",
            started_ns,
            ended_ns,
            on,
            failure=self.trouble,
            children=tuple(self.steps),
        )

    def displace(self) -> None:
        self.is_displaced = self.is_over = True

    def give_up(self, trouble: str) -> None:
        """Ends the preemption. The first failure is the one that is reported."""
        self.trouble = self.trouble or trouble
        self.is_over = True
