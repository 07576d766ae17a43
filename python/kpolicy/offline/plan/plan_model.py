"""A plan: what changes from an old to a new policy, as counts, as changes of pods and as figures of
nodes. Everything that `plan` prints is made from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kpolicy.api_times import api_time
from kpolicy.offline.plan.node_measures import Measures, NodeUse, measures_line, merged
from kpolicy.offline.reports.columns import largest_first
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.quick_dataclass import dataclass


class PodClass(NamedTuple):
    """Pods that are counted together. `workload` is `namespace/name` of what they belong to;
    `owner_kind` is empty for pods without a controller."""

    workload: str
    owner_kind: str = ""
    priority: int = 0

    @property
    def namespace(self) -> str:
        return self.workload.partition("/")[0]

    def line(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "namespace": self.namespace,
            "ownerKind": self.owner_kind,
            "priority": self.priority,
        }


class Change(StrEnum):
    """What the new policy makes of a pod. `MOVED` is between nodes that are not equally good."""

    PLACED = "placed"
    PARKED = "parked"
    MOVED = "moved"
    EVICTED = "evicted"


class Cause(StrEnum):
    """`RULES`: the new policy decides otherwise in the same cluster. `INDIRECT`: only because other
    pods are elsewhere by then."""

    RULES = "rules"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True)
class PodChanged:
    """`old` and `new` are nodes, empty for none. `rule` made the change, if it was asked for.
    `message` says why the pod is on no node; for one that is evicted, for which pod it goes."""

    pod: str
    of: PodClass
    change: Change
    cause: Cause
    old: str = ""
    new: str = ""
    rule: str = ""
    message: str = ""

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {
            "pod": self.pod,
            "workload": self.of.workload,
            "change": self.change.value,
            "cause": self.cause.value,
            "old": self.old,
            "new": self.new,
        }
        optional = {"rule": self.rule, "message": self.message}
        return line | {name: text for name, text in optional.items() if text}


@dataclass(frozen=True, slots=True)
class Side:
    """What one policy does with pods: how many it places and parks, and which it evicts."""

    placed: int = 0
    parked: int = 0
    evicted: int = 0

    def __add__(self, other: Side) -> Side:
        return Side(
            self.placed + other.placed, self.parked + other.parked, self.evicted + other.evicted
        )

    def line(self) -> dict[str, int]:
        return {"placed": self.placed, "parked": self.parked, "evicted": self.evicted}


@dataclass(frozen=True, slots=True)
class Counts:
    """Of the pods that at least one policy serves. `moved_indirectly` is not part of `changed`."""

    pods: int = 0
    old: Side = field(default_factory=Side)
    new: Side = field(default_factory=Side)
    changed: Mapping[Change, int] = field(default_factory=dict)
    moved_indirectly: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.pods + other.pods,
            self.old + other.old,
            self.new + other.new,
            {each: self.count(each) + other.count(each) for each in Change},
            self.moved_indirectly + other.moved_indirectly,
        )

    def count(self, change: Change) -> int:
        return self.changed.get(change, 0)

    @property
    def changes(self) -> int:
        return sum(self.changed.values())

    def line(self) -> dict[str, Any]:
        return {
            "pods": self.pods,
            "old": self.old.line(),
            "new": self.new.line(),
            **{change.value: self.count(change) for change in Change},
            "movedIndirectly": self.moved_indirectly,
        }


def summed(counts: Iterable[Counts]) -> Counts:
    return sum(counts, Counts())


Classes = Mapping[PodClass, Counts]
_JOURNAL: Final = "journal"
# Its pods stay where they were, so that nodes do not fill otherwise, and nobody is evicted.
_NOT_OF_JOURNALS: Final = ("fullness", "fragmentation", "cost", "evictions")


@dataclass(frozen=True, slots=True)
class InputPlan:
    """The plan over one snapshot or journal. A journal has no measures of nodes but `spread`, and
    nobody is evicted: its pods went where they did. `from_ns` and `to_ns` are None where the time
    is unknown; `decisions` are those of a journal."""

    kind: str
    name: str
    classes: Classes
    changes: tuple[PodChanged, ...]
    measures: Measures
    nodes: tuple[NodeUse, ...] = ()
    from_ns: int | None = None
    to_ns: int | None = None
    decisions: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def counts(self) -> Counts:
        return summed(self.classes.values())

    @property
    def is_journal(self) -> bool:
        return self.kind == _JOURNAL

    @property
    def not_measured(self) -> tuple[str, ...]:
        """The figures of which the plan says nothing here."""
        return _NOT_OF_JOURNALS if self.is_journal else ()

    def line(self) -> dict[str, Any]:
        times = {"from": self.from_ns, "to": self.to_ns}
        return {
            "kind": self.kind,
            "name": self.name,
            **{key: api_time(at_ns) for key, at_ns in times.items() if at_ns is not None},
            **({"decisions": self.decisions} if self.is_journal else {}),
            "counts": self.counts.line(),
            "classes": classes_line(self.classes),
            "changes": [change.line() for change in self.changes],
            **measures_line(self.measures),
            "nodes": [node.line() for node in self.nodes],
            "notMeasured": list(self.not_measured),
            "problems": [
                {"code": each.code, "source": each.source, "message": each.message}
                for each in self.problems
            ],
        }


@dataclass(frozen=True, slots=True)
class Threshold:
    """An expression over the figures of a plan; the plan fails where it is true."""

    expression: str
    is_true: bool

    def line(self) -> dict[str, Any]:
        return {"expression": self.expression, "isTrue": self.is_true}


@dataclass(frozen=True, slots=True)
class Plan:
    """`inputs` are in the order of their times. `releases` of Kubernetes are followed by the old
    and by the new policy."""

    old: str
    new: str
    inputs: tuple[InputPlan, ...]
    releases: tuple[str, str] = ("", "")
    thresholds: tuple[Threshold, ...] = ()

    @property
    def classes(self) -> Classes:
        """Of all inputs, those with the most changes first."""
        found: dict[PodClass, Counts] = {}
        for each in self.inputs:
            for of, counts in each.classes.items():
                found[of] = found.get(of, Counts()) + counts
        return dict(sorted(found.items(), key=_most_changed_first))

    @property
    def counts(self) -> Counts:
        return summed(each.counts for each in self.inputs)

    @property
    def measures(self) -> Measures:
        return merged([each.measures for each in self.inputs])

    @property
    def by_rule(self) -> list[tuple[str, int]]:
        """The rules that made the explained changes, the most frequent first."""
        changes = (change for each in self.inputs for change in each.changes)
        return largest_first(Counter(change.rule for change in changes if change.rule))

    @property
    def is_failed(self) -> bool:
        return any(threshold.is_true for threshold in self.thresholds)

    @property
    def problems(self) -> list[Problem]:
        return [problem for each in self.inputs for problem in each.problems]

    def line(self) -> dict[str, Any]:
        old, new = (
            {"policy": name, "release": release}
            for name, release in zip((self.old, self.new), self.releases, strict=True)
        )
        return {
            "old": old,
            "new": new,
            "counts": self.counts.line(),
            "classes": classes_line(self.classes),
            "byRule": dict(self.by_rule),
            **measures_line(self.measures),
            "thresholds": [threshold.line() for threshold in self.thresholds],
            "failed": self.is_failed,
            "inputs": [each.line() for each in self.inputs],
        }


def _most_changed_first(item: tuple[PodClass, Counts]) -> tuple[int, int, int, PodClass]:
    of, counts = item
    return -counts.changes, -counts.moved_indirectly, -counts.pods, of


def classes_line(classes: Classes) -> list[dict[str, Any]]:
    return [{**of.line(), **counts.line()} for of, counts in classes.items()]
