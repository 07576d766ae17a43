"""Replays a journal with another policy: what it would have decided about each pod, in the cluster
as it was at that moment.

The recorded choices are taken over, so that one difference does not cause the next. Pods that
another scheduler placed are compared when the watch shows it: where the pod is pending here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kpolicy.api_times import api_micro_time
from kpolicy.engine import (
    Engine,
    KeptDifferences,
    Labelled,
    Located,
    MadeCalls,
    Opinion,
    OtherBinds,
    Verdict,
    make_calls,
)
from kpolicy.engine.opinions import ACTED_ON, DIFFERENT, Result
from kpolicy.journal.engine_calls import BrokenRecordError, Call, Effect, made_again
from kpolicy.offline.answers.diff_overview import NAMED_BY, workload_name
from kpolicy.offline.journal_replay.calls_at_once import Decisions
from kpolicy.offline.journal_replay.decided_pods import DecidedPod
from kpolicy.offline.journal_replay.engine_state import ENGINE_ERRORS, Mark, assume, mark_of
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader
from kpolicy.offline.journal_replay.read_ahead import (
    Ahead,
    AheadCalls,
    AheadRecord,
    read_ahead,
)
from kpolicy.offline.journal_replay.same_decisions import Progress
from kpolicy.offline.limits import DIFFERENCES_KEPT_MAX
from kpolicy.offline.snapshots.cluster_snapshot import loaded_engine
from kpolicy.offline.snapshots.snapshot_problem import JOURNAL_GAP, Problem
from kpolicy.policy.assembly.assemble import Program


@dataclass(frozen=True, slots=True)
class DecidedOtherwise:
    """`node` is empty if the pod was parked; so is `other_node` where the policy has none."""

    at_ns: int
    pod: str
    result: Result
    node: str
    other_node: str

    def line(self) -> dict[str, Any]:
        return {
            "time": api_micro_time(self.at_ns),
            "pod": self.pod,
            "result": self.result.value,
            "node": self.node,
            "otherNode": self.other_node,
        }


@dataclass(slots=True)
class Compared:
    """What a policy would have decided. `binds` counts pods that other schedulers placed, of
    `decisions`; `absent` are resources that it reads and the journal does not have."""

    decisions: int = 0
    binds: int = 0
    results: Counter[Result] = field(default_factory=Counter)
    workloads: defaultdict[str, Counter[Result]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    differences: list[DecidedOtherwise] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    @property
    def different(self) -> int:
        return sum(self.results[result] for result in DIFFERENT)

    def line(self) -> dict[str, Any]:
        return {
            "summary": {
                "decisions": self.decisions,
                "different": self.different,
                "bindsOfOthers": self.binds,
                "results": {result.value: self.results[result] for result in Result},
                "absent": sorted(self.absent),
            },
            "workloads": {
                name: {
                    result.value: counts[result]
                    for result in Result
                    if result in DIFFERENT and counts[result]
                }
                for name, counts in most_changed(self.workloads)
            },
            "problems": [
                {"code": each.code, "source": each.source, "message": each.message}
                for each in self.problems
            ],
        }


def most_changed(workloads: dict[str, Counter[Result]]) -> list[tuple[str, Counter[Result]]]:
    """Those with differences, the most first."""
    sizes = {
        name: sum(counts[result] for result in DIFFERENT) for name, counts in workloads.items()
    }
    changed = [(name, counts) for name, counts in workloads.items() if sizes[name]]
    return sorted(changed, key=lambda item: (-sizes[item[0]], item[0]))


class OtherPolicy:
    """Compares epoch after epoch; `compared` has the sum. `decisions` are judged by the engine, or
    read for a subclass that judges each. Raises `PolicyRefusedError`."""

    decisions: ClassVar = Decisions.JUDGED

    def __init__(
        self,
        program: Program,
        *,
        until_ns: int | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.compared = Compared()
        self._program = program
        self._until_ns = until_ns
        self._threads = threads
        self._progress = progress
        self.engine = Engine(threads=1)
        self._listed: set[str] = set()

    def replay(self, epoch: Epoch) -> None:
        self.engine = loaded_engine(self._program, epoch.header.seed, self._threads)
        self._listed.clear()
        reader = EpochReader(epoch)
        problems = self.compared.problems
        try:
            self._replay(epoch, reader)
        except BrokenRecordError as error:
            message = f"damaged: {error}; what comes before is used"
            problems.append(Problem("Damaged", reader.segment, "", message))
        problems += [each for each in (reader.problem, epoch.gap) if each is not None]
        self.compared.absent |= set(self.engine.resources()) - self._listed

    def _replay(self, epoch: Epoch, reader: EpochReader) -> None:
        if not epoch.is_whole:
            message = "the segments before are gone, and what follows rests on them"
            problem = Problem(JOURNAL_GAP, str(epoch.segments[0].path), "", message)
            self.compared.problems.append(problem)
            return
        mark = mark_of(EpochReader(epoch).records()) if epoch.header.epoch > 1 else None
        if mark is None and epoch.header.epoch > 1:
            return
        with closing(read_ahead(reader, self.engine, self.decisions)) as records:
            if mark is not None:
                self._fill(mark, records)
            for ahead in records:
                if not self._replay_ahead(ahead):
                    return
                if self._progress is not None:
                    self._progress(self.compared.decisions)

    def _replay_ahead(self, ahead: Ahead) -> bool:
        """Whether the replay goes on."""
        if isinstance(ahead, AheadCalls):
            count = ahead.until(self._until_ns)
            self._make(ahead, count)
            return count == len(ahead.frames)
        if self._until_ns is not None and ahead.record.at_ns > self._until_ns:
            return False
        self._take(ahead)
        return True

    def _fill(self, mark: Mark, records: Iterator[Ahead]) -> None:
        """Makes the calls about objects up to the mark."""
        for ahead in records:
            if isinstance(ahead, AheadCalls):
                make_calls(self.engine, ahead.calls, len(ahead.frames), only_objects=True)
                self.see_calls(ahead, len(ahead.frames))
            elif ahead.record.effect is Effect.MARK:
                assume(self.engine, mark, ahead.record)
                return
            elif ahead.record.effect is Effect.OBJECTS:
                self._feed(ahead)

    def _make(self, ahead: AheadCalls, count: int) -> None:
        """The first calls of those that the engine makes at once."""
        binds = OtherBinds.JUDGED if self.decisions is Decisions.JUDGED else OtherBinds.REPORTED
        done = 0
        while done < count:
            room = DIFFERENCES_KEPT_MAX - len(self.compared.differences)
            kept = KeptDifferences(room, NAMED_BY)
            made = make_calls(self.engine, ahead.calls, count - done, binds=binds, kept=kept)
            done += made.calls
            self.compared.binds += made.binds
            self._count(made)
            if made.placed is not None:
                self._compare_bind(made.placed, ahead.frames[done].at_ns)
        self.see_calls(ahead, count)

    def _count(self, made: MadeCalls) -> None:
        """What the engine judged itself."""
        compared = self.compared
        compared.decisions += made.results.total()
        compared.results += made.results
        compared.differences += [
            DecidedOtherwise(other.at_ns, other.pod, other.result, other.node, other.other_node)
            for other in made.disagreements
        ]
        for pod, results in made.workloads:
            compared.workloads[_workload(pod)] += results

    def _take(self, ahead: AheadRecord) -> None:
        match ahead.record.effect:
            case Effect.DECIDES:
                self._compare(ahead.pods, ahead.record.at_ns)
            case Effect.OBJECTS | Effect.TIME:
                self._feed(ahead)
            case Effect.OUTCOME if ahead.record.name == "settle":
                self._feed(ahead)

    def _feed(self, ahead: AheadRecord) -> None:
        call = ahead.call
        assert call is not None, "only decisions and marks have none"
        try:
            made_again(self.engine, call)
        except ENGINE_ERRORS:
            return  # as it was when this was recorded
        self.see(call)

    def see(self, call: Call) -> None:
        """A call about objects was made."""
        if call.name == "list_begin":
            self._listed.add(str(call.arguments[0]))

    def see_calls(self, ahead: AheadCalls, count: int) -> None:
        """The first of these calls were made."""

    def _compare_bind(self, placed: Located, at_ns: int) -> None:
        self.compared.binds += 1
        key = f"{placed.namespace}/{placed.name}"
        pod = DecidedPod(placed.uid, key, placed.node, Verdict.PLACED, is_extended=False)
        self._compare((pod,), at_ns)

    def _compare(self, pods: Sequence[DecidedPod], at_ns: int) -> None:
        acted = [pod for pod in pods if pod.verdict in ACTED_ON]
        self.count_opinions(acted, self.opinions(acted, at_ns), at_ns)

    def opinions(self, acted: Sequence[DecidedPod], at_ns: int) -> list[Opinion]:
        """The engine takes over what was decided."""
        return self.engine.second_opinions([(pod.uid, pod.node) for pod in acted], at_ns)

    def count_opinions(
        self, acted: Sequence[DecidedPod], opinions: Sequence[Opinion], at_ns: int
    ) -> None:
        compared = self.compared
        compared.decisions += len(opinions)
        compared.results.update(opinion.result for opinion in opinions)
        pairs = zip(acted, opinions, strict=True)
        different = [(pod, opinion) for pod, opinion in pairs if opinion.result in DIFFERENT]
        there = self.engine.labelled([pod.uid for pod, _ in different]) if different else ()
        workloads = {pod.uid: _workload(pod) for pod in there}
        for pod, opinion in different:
            compared.workloads[workloads.get(pod.uid, pod.key)][opinion.result] += 1
            if len(compared.differences) < DIFFERENCES_KEPT_MAX:
                compared.differences.append(
                    DecidedOtherwise(at_ns, pod.key, opinion.result, pod.node, opinion.node)
                )


def _workload(pod: Labelled) -> str:
    """A pod that no controller and no label joins to others is one by itself."""
    metadata: dict[str, Any] = {
        "namespace": pod.namespace,
        "name": pod.name,
        "labels": dict(pod.labels),
    }
    if pod.controller:
        metadata["ownerReferences"] = [{"name": pod.controller, "controller": True}]
    return workload_name({"metadata": metadata})
