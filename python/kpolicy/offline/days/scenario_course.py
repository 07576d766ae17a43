"""What happens in the days of a scenario: its snapshot, nodes, arrivals, trace and changes."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, did_you_mean
from kpolicy.journal.engine_calls import Call
from kpolicy.offline.days.course import (
    Evictions,
    NodeDrained,
    NodeGone,
    NodeIs,
    NodeUncordoned,
    Occurrence,
    OthersChange,
    PodComes,
    Span,
)
from kpolicy.offline.days.durations import read_duration
from kpolicy.offline.days.pod_texts import PodTexts, pod_texts
from kpolicy.offline.days.random_times import lifetime, times
from kpolicy.offline.days.read_scenario import ScenarioFile
from kpolicy.offline.days.scenario_checks import Problem, nodes_named, sample_ns
from kpolicy.offline.days.scenario_model import Change, PodKind, Scenario, names
from kpolicy.offline.days.trace_rows import Trace, read_trace
from kpolicy.offline.policy_tests import fixture_objects
from kpolicy.offline.policy_tests.document_model import PodForm, nanoseconds
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, has_ended, node_of
from kpolicy.offline.snapshots.inventory import requested
from kpolicy.offline.snapshots.json_objects import Json, mapping_at, name_of, uid_of

_USUAL: Final = ("cpu", "memory")
_OF_NODES: Final = frozenset({"pods"})


@dataclass(frozen=True, slots=True)
class Beginning:
    """The objects of the snapshot; `others` are neither pods nor nodes."""

    nodes: tuple[Json, ...] = ()
    pods: tuple[Json, ...] = ()
    others: bytes = b""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that a scenario names."""

    beginning: Beginning
    trace: Trace
    snapshot: Snapshot | None


def read_inputs(file: ScenarioFile) -> Inputs | Diagnostic:
    model = file.model
    beginning, snapshot = Beginning(), None
    if model.snapshot is not None:
        paths = [str(file.folder / name) for name in names(model.snapshot)]
        snapshot = Snapshot.load(paths)
        for problem in snapshot.file_problems:
            if problem.is_of_whole_source:
                message = f"{problem.code}: {problem}"
                return file.finding(Problem("KP512", ("snapshot",), message))
        beginning = _beginning(snapshot)
    trace = Trace()
    if model.trace is not None:
        read = read_trace(file.folder / model.trace, [kind.name for kind in model.pods])
        if isinstance(read, Diagnostic):
            if read.place is not None:
                return read
            return file.finding(Problem("KP512", ("trace",), read.message, read.hint))
        trace = read
    return Inputs(beginning, trace, snapshot)


def _beginning(snapshot: Snapshot) -> Beginning:
    nodes, pods, others = [], [], []
    for _, item in snapshot.objects():
        if item.get("kind") == "Node":
            nodes.append(item)
        elif item.get("kind") == "Pod":
            pods.append(item)
        else:
            others.append(json.dumps(item))
    return Beginning(tuple(nodes), tuple(pods), "\n".join(others).encode())


def wrong_nodes(model: Scenario, inputs: Inputs) -> Iterator[Problem]:
    """Nodes of changes that are never there, nodes that are there twice, and no nodes at all."""
    recorded = {name_of(node) for node in inputs.beginning.nodes}
    written = set()
    for group in model.nodes:
        added = sum(change.count for change in model.changes if change.add == group.name)
        if not group.count + added:
            continue
        is_one = group.count + added == 1
        numbers = range(1, group.count + added + 1)
        written |= {group.name} if is_one else {f"{group.name}-{number}" for number in numbers}
    if not recorded | written:
        yield Problem("KP511", ("snapshot",), "there are no nodes in the snapshot")
    for path, name in nodes_named(model):
        if name not in recorded | written:
            near = did_you_mean(name, sorted(recorded | written))
            yield Problem("KP510", path, f"there is no node `{name}`", near)
    for name in sorted(recorded & written):
        yield Problem("KP104", ("nodes",), f"the snapshot has a node `{name}` too")


def course_of(file: ScenarioFile, model: Scenario, inputs: Inputs) -> ScenarioCourse | Diagnostic:
    """`model` is that of the file, or with other values."""
    problem = next(wrong_nodes(model, inputs), None)
    return (
        file.finding(problem) if problem else ScenarioCourse(model, inputs.beginning, inputs.trace)
    )


class ScenarioCourse:
    """The `Course` of a scenario."""

    def __init__(self, model: Scenario, beginning: Beginning, trace: Trace) -> None:
        self._model = model
        self._beginning = beginning
        self._trace = trace
        self.name = model.metadata.name
        begins_ns = nanoseconds(model.begins)
        ends_ns = begins_ns + (read_duration(model.duration) or 0)
        self.span = Span(begins_ns, ends_ns, sample_ns(model))
        recreates = model.evicted == "recreated"
        self.evictions = Evictions(read_duration(model.grace_period) or 0, recreates, recreates)
        self.resources = self._resources()
        self._kinds = {kind.name: kind for kind in model.pods}
        self._groups = {group.name: group for group in model.nodes}
        self._totals = {
            group.name: group.count
            + sum(change.count for change in model.changes if change.add == group.name)
            for group in model.nodes
        }

    def occurrences(self, seed: int, scheduler_name: str) -> Iterator[Occurrence]:
        yield from self._at_first()
        numbers = itertools.count(1)
        yield from heapq.merge(
            self._changes(),
            self._of_trace(seed, scheduler_name, numbers),
            *(
                self._arrive(place, seed, scheduler_name, numbers)
                for place in range(len(self._model.arrivals))
            ),
            key=lambda occurrence: occurrence.at_ns,
        )

    def _resources(self) -> Sequence[str]:
        found = {name for kind in self._model.pods for name in kind.requests}
        found |= {name for shape in self._trace.shapes for name, _ in shape.requests}
        for pod in self._beginning.pods:
            found |= requested(pod).keys()
        for kind in self._model.pods:
            found |= requested(self._object(kind, kind.name, "")).keys()
        return (*_USUAL, *sorted(found - {*_USUAL, *_OF_NODES}))

    # --- the beginning ---------------------------------------------------------------------------

    def _at_first(self) -> Iterator[Occurrence]:
        at_ns, first = self.span.begins_ns, self._beginning
        if first.others:
            yield OthersChange(at_ns, Call("load_objects", (first.others, "")))
        for node in first.nodes:
            yield NodeIs(at_ns, node)
        for group in self._model.nodes:
            yield from self._new_nodes(at_ns, group.name, 1, group.count)
        for pod in first.pods:
            if not has_ended(pod) and not mapping_at(pod, "metadata").get("deletionTimestamp"):
                yield PodComes(at_ns, pod_texts(pod), name_of(pod), uid_of(pod), node=node_of(pod))

    def _new_nodes(self, at_ns: int, name: str, first: int, count: int) -> Iterator[NodeIs]:
        group = self._groups[name]
        for number in range(first, first + count):
            own = name if self._totals[name] == 1 else f"{name}-{number}"
            entry = group.model_copy(update={"name": own})
            yield NodeIs(at_ns, fixture_objects.node(entry, self._groups))

    # --- pods ------------------------------------------------------------------------------------

    def _arrive(
        self, place: int, seed: int, scheduler_name: str, numbers: Iterator[int]
    ) -> Iterator[PodComes]:
        arrivals = self._model.arrivals[place]
        kind = self._kinds[arrivals.pods]
        texts = pod_texts(self._object(kind, kind.name, scheduler_name))
        when, stays = (Random(f"{seed}:{place}:{kind.name}:{what}") for what in ("when", "stays"))
        for at_ns in times(arrivals, self.span.begins_ns, self.span.ends_ns, when):
            number = next(numbers)
            yield _pod(at_ns, texts, kind.name, number, lifetime(self._lifetime(kind), stays))

    def _lifetime(self, kind: PodKind) -> Any:
        """Its own, or that of the kind that it starts from."""
        for _ in range(len(self._kinds)):
            if kind.lifetime is not None or kind.from_ is None:
                break
            kind = self._kinds[kind.from_]
        return kind.lifetime

    def _of_trace(
        self, seed: int, scheduler_name: str, numbers: Iterator[int]
    ) -> Iterator[PodComes]:
        made: list[PodTexts] = []
        for shape in self._trace.shapes:
            form = PodForm.model_validate(
                {
                    **({"from": shape.template} if shape.template else {}),
                    **({"namespace": shape.namespace} if shape.namespace else {}),
                    **({"priority": shape.priority} if shape.priority is not None else {}),
                    "requests": dict(shape.requests),
                }
            )
            made.append(pod_texts(self._object(form, shape.template or "trace", scheduler_name)))
        stays = Random(f"{seed}:trace:stays")
        for row in self._trace.rows:
            shape = self._trace.shapes[row.shape]
            lasts_ns = row.lifetime_ns
            if lasts_ns is None and shape.template:
                lasts_ns = lifetime(self._lifetime(self._kinds[shape.template]), stays)
            at_ns, name = self.span.begins_ns + row.at_ns, shape.template or "trace"
            yield _pod(at_ns, made[row.shape], name, next(numbers), lasts_ns)

    def _object(self, form: PodForm, name: str, scheduler_name: str) -> Mapping[str, Any]:
        return fixture_objects.pod(form, self._fixtures(), name=name, scheduler=scheduler_name)

    def _fixtures(self) -> Mapping[str, PodForm]:
        return {kind.name: kind for kind in self._model.pods}

    # --- nodes -----------------------------------------------------------------------------------

    def _changes(self) -> Iterator[Occurrence]:
        there = {group.name: group.count for group in self._model.nodes}
        ordered = sorted(self._model.changes, key=lambda change: read_duration(change.at) or 0)
        for change in ordered:
            at_ns = self.span.begins_ns + (read_duration(change.at) or 0)
            if change.add is not None:
                yield from self._new_nodes(at_ns, change.add, there[change.add] + 1, change.count)
                there[change.add] += change.count
            yield from _changed(at_ns, change)


def _pod(at_ns: int, texts: PodTexts, name: str, number: int, lifetime_ns: int | None) -> PodComes:
    uid = f"00000000-0000-4000-8000-{number:012d}"
    return PodComes(at_ns, texts, f"{name}-{number}", uid, lifetime_ns)


def _changed(at_ns: int, change: Change) -> Iterator[Occurrence]:
    for name in names(change.drain):
        yield NodeDrained(at_ns, name)
    for name in names(change.uncordon):
        yield NodeUncordoned(at_ns, name)
    for name in names(change.fail):
        yield NodeGone(at_ns, name)
