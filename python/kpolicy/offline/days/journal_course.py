"""What happened in the days of a journal: its pods, nodes and other objects, as lists and watches
showed them. What was decided is left out; a pod stays on a node for as long as it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.journal.engine_calls import BrokenRecordError, Call, Effect, Record, call_of
from kpolicy.offline.days.course import (
    Evictions,
    NodeGone,
    NodeIs,
    Occurrence,
    OthersChange,
    PodComes,
    Span,
)
from kpolicy.offline.days.pod_texts import PodTexts, pod_texts
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader, JournalInput
from kpolicy.offline.journal_replay.journal_objects import page_items, watch_events
from kpolicy.offline.limits import SAMPLES_DEFAULT
from kpolicy.offline.snapshots.cluster_snapshot import as_pending, has_ended, node_of
from kpolicy.offline.snapshots.json_objects import Json, mapping_at, name_of, uid_of
from kpolicy.offline.snapshots.snapshot_problem import DAMAGED, JOURNAL_GAP, Problem

_USUAL: Final = ("cpu", "memory")
# kube-scheduler's default for a pod that says nothing.
_GRACE_NS: Final = 30 * NANOSECONDS


@dataclass(slots=True)
class _Pod:
    """A pod of the journal, with the times at which it came, had a node, and was gone."""

    item: Json
    came_ns: int
    is_first: bool
    node: str = ""
    bound_ns: int = 0
    gone_ns: int | None = None


@dataclass(slots=True)
class _Read:
    begins_ns: int = 0
    ends_ns: int = 0
    pods: dict[str, _Pod] = field(default_factory=dict)
    others: list[Occurrence] = field(default_factory=list)
    nodes: dict[str, None] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    cluster_version: str = ""


def read_course(journal: JournalInput) -> JournalCourse | Problem:
    """A problem if nothing of the journal can be used."""
    read = _Read(problems=list(journal.problems))
    for epoch in journal.epochs:
        if not epoch.is_whole:
            message = "the segments before are gone, and what follows rests on them"
            problem = Problem(JOURNAL_GAP, str(epoch.segments[0].path), "", message)
            read.problems.append(problem)
            continue
        read.cluster_version = read.cluster_version or epoch.header.cluster_version
        _EpochWalk(read).walk(epoch)
    if not any(isinstance(each, NodeIs) for each in read.others):
        first = next(iter(read.problems), None)
        hint = "record one with `kpolicy run --journal` or `kpolicy snapshot record --follow`"
        source = str(journal.epochs[0].segments[0].path.parent) if journal.epochs else "journal"
        return first or Problem(JOURNAL_GAP, source, "", "the journal has no nodes", hint)
    return JournalCourse(read)


class _EpochWalk:
    """Lists of an epoch: what they do not name is gone."""

    def __init__(self, read: _Read) -> None:
        self._read = read
        self._named: dict[str, set[str]] = {}

    def walk(self, epoch: Epoch) -> None:
        reader = EpochReader(epoch)
        try:
            for record in reader.records():
                if record.effect is Effect.OBJECTS:
                    self._take(record)
                self._read.ends_ns = max(self._read.ends_ns, record.at_ns)
        except BrokenRecordError as error:
            message = f"damaged: {error}; what comes before is used"
            self._read.problems.append(Problem(DAMAGED, reader.segment, "", message))
        found = (reader.problem, epoch.gap)
        self._read.problems += [problem for problem in found if problem is not None]

    def _take(self, record: Record) -> None:
        call, at_ns = call_of(record), record.at_ns
        self._read.begins_ns = self._read.begins_ns or at_ns
        resource = call.arguments[0] if call.arguments else ""
        if resource not in ("pods", "nodes"):
            self._read.others.append(OthersChange(at_ns, call))
            return
        see = self._pod if resource == "pods" else self._node
        match call:
            case Call("list_begin"):
                self._named[resource] = set()
            case Call("list_page", (_, bytes() as body, *_)):
                for item in _items(body):
                    self._named.setdefault(resource, set()).add(uid_of(item))
                    see("ADDED", item, at_ns)
            case Call("list_end"):
                self._end(resource, at_ns)
            case Call("watch" | "wrote", (_, bytes() as lines, *_)):
                for kind, item in _events(lines):
                    see(kind, item, at_ns)

    def _end(self, resource: str, at_ns: int) -> None:
        named = self._named.pop(resource, set())
        if resource == "pods":
            for uid, pod in self._read.pods.items():
                if uid not in named and pod.gone_ns is None:
                    pod.gone_ns = at_ns
        else:
            for name in [name for name in self._read.nodes if name not in named]:
                del self._read.nodes[name]
                self._read.others.append(NodeGone(at_ns, name))

    def _pod(self, kind: str, item: Json, at_ns: int) -> None:
        pods, uid = self._read.pods, uid_of(item)
        pod = pods.get(uid)
        is_over = kind == "DELETED" or has_ended(item)
        if pod is None:
            if is_over:
                return
            is_first = at_ns == self._read.begins_ns or "pods" in self._named
            pod = pods[uid] = _Pod(item, at_ns, is_first)
        if is_over and pod.gone_ns is None:
            pod.gone_ns = at_ns
        if not pod.node and (node := node_of(item)):
            pod.node, pod.bound_ns = node, at_ns

    def _node(self, kind: str, item: Json, at_ns: int) -> None:
        name = name_of(item)
        self._named.setdefault("nodes", set()).add(name)
        if kind == "DELETED":
            self._read.nodes.pop(name, None)
            self._read.others.append(NodeGone(at_ns, name))
        else:
            self._read.nodes[name] = None
            self._read.others.append(NodeIs(at_ns, item))


class JournalCourse:
    """The `Course` of a journal."""

    def __init__(self, read: _Read) -> None:
        self.name = "journal"
        self.problems = tuple(read.problems)
        self.cluster_version = read.cluster_version
        lasts_ns = max(NANOSECONDS, read.ends_ns - read.begins_ns)
        sample_ns = max(NANOSECONDS, lasts_ns // SAMPLES_DEFAULT // NANOSECONDS * NANOSECONDS)
        self.span = Span(read.begins_ns, read.ends_ns, sample_ns)
        # Who came for pods that were displaced is in the journal.
        self.evictions = Evictions(_GRACE_NS, recreates_preempted=True, recreates_displaced=False)
        shared: dict[str, PodTexts] = {}
        pods = [_comes(uid, pod, shared) for uid, pod in read.pods.items()]
        found = {name for texts in shared.values() for name in texts.amounts}
        self.resources: Sequence[str] = (*_USUAL, *sorted(found - {*_USUAL}))
        # Nodes come before pods of the same time.
        self._occurrences = sorted([*read.others, *pods], key=lambda each: each.at_ns)

    def occurrences(self, seed: int, scheduler_name: str) -> Iterator[Occurrence]:
        """The journal says all; `seed` and `scheduler_name` change nothing of it."""
        return iter(self._occurrences)


def _comes(uid: str, pod: _Pod, shared: dict[str, PodTexts]) -> PodComes:
    """Pods that were on nodes at the beginning stay there; all others are placed anew."""
    texts = pod_texts(as_pending(pod.item))
    texts = shared.setdefault(texts.added, texts)
    is_there = pod.is_first and bool(pod.node) and pod.bound_ns == pod.came_ns
    comes = PodComes(pod.came_ns, texts, name_of(pod.item), uid)
    if is_there:
        return replace(comes, node=pod.node, gone_ns=pod.gone_ns)
    if pod.node and pod.gone_ns is not None:
        return replace(comes, lifetime_ns=max(0, pod.gone_ns - pod.bound_ns))
    return replace(comes, gone_ns=pod.gone_ns)


def _items(body: bytes) -> Iterable[Json]:
    return [item for item in page_items(body) if _is_object(item)]


def _events(lines: bytes) -> Iterator[tuple[str, Json]]:
    for kind, item in watch_events(lines):
        if _is_object(item) and kind != "BOOKMARK":
            yield kind, item


def _is_object(item: Any) -> bool:
    return isinstance(item, dict) and bool(mapping_at(item, "metadata").get("name"))
