"""Making room for one pod: what is to be done, and what it came to.

Owns the plan that a decision asks for, and its end. Pure. Order as kube-scheduler's: the claim to
the node stands first, lower claims give way, all victims but the last go side by side, the last one
last; the first that cannot go ends it, so that never more go than must.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from kpolicy.cluster.eviction import (
    AlreadyGone,
    AlreadyLeaving,
    Evicted,
    Eviction,
    EvictionFenced,
    EvictionOutcome,
    NotEvicted,
)
from kpolicy.engine import Decision
from kpolicy.scheduler.queued_pod import QueuedPod

# kube-scheduler tells what came of preemption behind this, wherever it did not find room.
_TOLD = "preemption: "


@dataclass(frozen=True, slots=True)
class Plan:
    """`victims_total` counts also those that are leaving already and need no eviction."""

    pod: QueuedPod
    node: str
    evictions: tuple[Eviction, ...]
    displaced: tuple[str, ...]
    victims_total: int

    @property
    def together(self) -> tuple[Eviction, ...]:
        """All but the last."""
        return self.evictions[:-1]

    @property
    def last(self) -> tuple[Eviction, ...]:
        return self.evictions[-1:]

    def note(self, *, in_memory: bool) -> str:
        """Of the event on each victim, which kube-scheduler words alike."""
        note = f"Preempted by pod {self.pod.uid} on node {self.node}"
        return f"{note} (in kpolicy memory)." if in_memory else note


def plan(pod: QueuedPod, decision: Decision) -> Plan:
    message = f"{pod.profile}: preempting to accommodate a higher priority pod"
    evictions = tuple(
        Eviction(victim.namespace, victim.name, victim.uid, message)
        for victim in decision.victims
        if not victim.is_terminating
    )
    displaced = tuple(decision.displaced)
    return Plan(pod, decision.nominated_node, evictions, displaced, len(decision.victims))


def was_tried(decision: Decision) -> bool:
    """Whether room was looked for at all: what `preemption_attempts_total` counts."""
    return bool(decision.victims) or _TOLD in decision.message


@dataclass(slots=True)
class Room:
    """What came of it so far. `trouble` is what to tell; a fenced one is not told."""

    plan: Plan
    evicted: list[str] = field(default_factory=list)
    is_over: bool = False
    trouble: str = ""

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

    def give_up(self, trouble: str) -> None:
        """The first trouble is the one that is told."""
        self.trouble = self.trouble or trouble
        self.is_over = True
