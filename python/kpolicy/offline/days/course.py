"""What happens from outside in simulated days: pods come, nodes change, other objects change.

A `Course` is where this comes from: a scenario or a journal. It can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kpolicy.journal.engine_calls import Call
from kpolicy.offline.days.pod_texts import PodTexts


@dataclass(frozen=True, slots=True)
class PodComes:
    """`lifetime_ns`: how long it stays on a node; None: until the end. `gone_ns`: the time at which
    it is deleted, also if it has no node by then. `node`: the node that it is on already."""

    at_ns: int
    texts: PodTexts
    name: str
    uid: str
    lifetime_ns: int | None = None
    gone_ns: int | None = None
    node: str = ""


@dataclass(frozen=True, slots=True)
class NodeIs:
    """A node is new, or has changed."""

    at_ns: int
    node: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeDrained:
    """It takes no new pods, and its pods are evicted."""

    at_ns: int
    name: str


@dataclass(frozen=True, slots=True)
class NodeUncordoned:
    at_ns: int
    name: str


@dataclass(frozen=True, slots=True)
class NodeGone:
    """With its pods."""

    at_ns: int
    name: str


@dataclass(frozen=True, slots=True)
class OthersChange:
    """A call of the engine about objects that are neither pods nor nodes."""

    at_ns: int
    call: Call


Occurrence: TypeAlias = PodComes | NodeIs | NodeDrained | NodeUncordoned | NodeGone | OthersChange


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when the days last, and how often figures are taken."""

    begins_ns: int
    ends_ns: int
    sample_ns: int


@dataclass(frozen=True, slots=True)
class Evictions:
    """`grace_ns`: how long an evicted pod holds its room. The others say whether another pod comes
    for one that is preempted, and for one that is drained or loses its node."""

    grace_ns: int
    recreates_preempted: bool
    recreates_displaced: bool


class Course(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def span(self) -> Span: ...

    @property
    def evictions(self) -> Evictions: ...

    @property
    def resources(self) -> Sequence[str]:
        """The resources that figures are made of."""

    def occurrences(self, seed: int, scheduler_name: str) -> Iterator[Occurrence]:
        """In the order of time. Pods that say no scheduler get this one."""
