"""Replays a journal with another policy: what it would have decided about each pod, in the cluster
as it was at that moment.

The recorded choices are taken over, so that one difference does not cause the next. Pods that
another scheduler placed are compared when the watch shows it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.api_times import api_micro_time
from kpolicy.engine import Applied, Engine, Opinion, PodState, Verdict
from kpolicy.engine.opinions import Result, compared
from kpolicy.journal.engine_calls import (
    BrokenRecordError,
    Call,
    Effect,
    Record,
    call_of,
    made_again,
)
from kpolicy.offline.answers.diff_overview import workload_name
from kpolicy.offline.journal_replay.decided_pods import DecidedPod, decided_pods
from kpolicy.offline.journal_replay.engine_state import ENGINE_ERRORS, assume, mark_of
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader
from kpolicy.offline.journal_replay.same_decisions import Progress
from kpolicy.offline.limits import DIFFERENCES_KEPT_MAX
from kpolicy.offline.snapshots.cluster_snapshot import loaded_engine
from kpolicy.offline.snapshots.snapshot_problem import JOURNAL_GAP, Problem
from kpolicy.policy.assembly.assemble import Program

# Results that are differences.
DIFFERENT: Final = (Result.DIFFERENT_NODE, Result.WOULD_REJECT, Result.WOULD_PLACE, Result.FAILED)
_ACTED_ON: Final = frozenset({Verdict.PLACED, Verdict.PARKED})
_NODE: Final = b'"nodeName"'


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
    workloads: dict[str, Counter[Result]] = field(default_factory=dict)
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
                name: {result.value: counts[result] for result in DIFFERENT if counts[result]}
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
    """Compares epoch after epoch; `compared` has the sum. Raises `PolicyRefusedError`."""

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
        # Pods that wait, by uid, and what they belong to.
        self._pending: dict[str, str] = {}
        self._workloads: dict[str, str] = {}

    def replay(self, epoch: Epoch) -> None:
        self.engine = loaded_engine(self._program, epoch.header.seed, self._threads)
        self._listed.clear()
        self._pending.clear()
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
        records = reader.records()
        if epoch.header.epoch > 1:
            mark = mark_of(EpochReader(epoch).records())
            if mark is None:
                return
            for record in records:
                if record.effect is Effect.MARK:
                    assume(self.engine, mark, record)
                    break
                if record.effect is Effect.OBJECTS:
                    self._feed(call_of(record))
        for number, record in enumerate(records):
            if self._until_ns is not None and record.at_ns > self._until_ns:
                return
            self._take(record)
            if self._progress is not None and not number % 1024:
                self._progress(self.compared.decisions)

    def _take(self, record: Record) -> None:
        match record.effect:
            case Effect.DECIDES:
                self._compare(decided_pods(record), record.at_ns)
            case Effect.OBJECTS:
                call = call_of(record)
                is_watch_of_pods = record.name == "watch" and call.arguments[0] == "pods"
                for part in _at_binds(call, self._pending) if is_watch_of_pods else (call,):
                    if isinstance(part, DecidedPod):
                        self.compared.binds += 1
                        self._compare([part], record.at_ns)
                    else:
                        self._feed(part)
            case Effect.OUTCOME if record.name == "settle":
                self._feed(call_of(record))
            case Effect.TIME:
                self._feed(call_of(record))

    def _feed(self, call: Call) -> None:
        try:
            answer = made_again(self.engine, call)
        except ENGINE_ERRORS:
            return  # as it was when this was recorded
        self.see(call)
        if isinstance(answer, Applied):
            for pod in answer.pods:
                if pod.change == PodState.PENDING:
                    self._pending[pod.uid] = f"{pod.namespace}/{pod.name}"
                else:
                    self._pending.pop(pod.uid, None)
                if pod.change == PodState.GONE:
                    self._workloads.pop(pod.uid, None)

    def see(self, call: Call) -> None:
        """What the engine does not tell of objects."""
        match call:
            case Call("list_begin", (str() as resource,)):
                self._listed.add(resource)
            case Call("list_page", ("pods", bytes() as body, *_)):
                document = _json(body)
                items = document.get("items")
                self.remember(items if isinstance(items, list) else [])
            case Call("watch", ("pods", bytes() as lines, *_)):
                added = [line for line in lines.splitlines() if b'"ADDED"' in line]
                self.remember([_json(line).get("object") for line in added])

    def remember(self, pods: Sequence[Any]) -> None:
        for pod in pods:
            metadata = pod.get("metadata") if isinstance(pod, dict) else None
            if isinstance(metadata, dict):
                self._workloads[str(metadata.get("uid"))] = workload_name(pod)

    def _compare(self, pods: Sequence[DecidedPod], at_ns: int) -> None:
        acted = [pod for pod in pods if pod.verdict in _ACTED_ON]
        opinions = self.opinions(acted, at_ns)
        for pod, opinion in zip(acted, opinions, strict=True):
            if pod.node:
                self._pending.pop(pod.uid, None)
            self.count(pod, opinion, at_ns)

    def opinions(self, acted: Sequence[DecidedPod], at_ns: int) -> list[Opinion]:
        """The engine takes over what was decided."""
        return self.engine.second_opinions([(pod.uid, pod.node) for pod in acted], at_ns)

    def count(self, pod: DecidedPod, opinion: Opinion, at_ns: int) -> None:
        found, result = self.compared, compared(pod, opinion)
        found.decisions += 1
        found.results[result] += 1
        if result not in DIFFERENT:
            return
        workload = self._workloads.get(pod.uid, pod.key)
        found.workloads.setdefault(workload, Counter())[result] += 1
        if len(found.differences) < DIFFERENCES_KEPT_MAX:
            found.differences.append(
                DecidedOtherwise(at_ns, pod.key, result, pod.node, opinion.node)
            )


def _at_binds(call: Call, pending: dict[str, str]) -> Iterator[Call | DecidedPod]:
    """The lines of a watch up to each that shows a pod on a node for which nobody decided here,
    and the pod before that line."""
    resource, lines, now_ns = call.arguments
    if _NODE not in lines:
        yield call
        return
    waiting: list[bytes] = []
    for line in lines.splitlines(keepends=True):
        uid, node = _bound(line) if _NODE in line else ("", "")
        # It may have come in these lines.
        if node and uid not in pending and any(uid.encode() in each for each in waiting):
            yield Call("watch", (resource, b"".join(waiting), now_ns))
            waiting = []
        if node and uid in pending:
            if waiting:
                yield Call("watch", (resource, b"".join(waiting), now_ns))
                waiting = []
            yield DecidedPod(uid, pending[uid], node, Verdict.PLACED, is_extended=False)
        waiting.append(line)
    yield Call("watch", (resource, b"".join(waiting), now_ns))


def _bound(line: bytes) -> tuple[str, str]:
    """The uid and the node of a pod; empty where there is none."""
    item = _json(line).get("object")
    metadata, spec = (
        (item.get("metadata"), item.get("spec")) if isinstance(item, dict) else (None, None)
    )
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return "", ""
    return str(metadata.get("uid")), str(spec.get("nodeName") or "")


def _json(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
