"""The plan over one journal: what each policy would have decided about each recorded decision, in
the cluster as it was then.

The recorded choices are taken over, so that one difference does not cause the next. A policy that
finds the recorded node equally good takes it, and the new policy takes that of the old one: no
difference is one of chance. Of a pod that was decided several times, the last decision counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from kpolicy.engine import Opinion, Outcome, Verdict
from kpolicy.engine.opinions import ACTED_ON
from kpolicy.journal.engine_calls import Call, call_of
from kpolicy.offline.journal_replay.calls_at_once import Decisions
from kpolicy.offline.journal_replay.decided_pods import DecidedPod
from kpolicy.offline.journal_replay.journal_input import JournalInput
from kpolicy.offline.journal_replay.journal_objects import json_of, page_items, watch_events
from kpolicy.offline.journal_replay.other_policy import OtherPolicy
from kpolicy.offline.journal_replay.read_ahead import AheadCalls
from kpolicy.offline.journal_replay.same_decisions import Progress
from kpolicy.offline.limits import REASONS_MAX
from kpolicy.offline.plan.node_figures import spread
from kpolicy.offline.plan.node_measures import Measures
from kpolicy.offline.plan.plan_cluster import class_of_pod, seen_node
from kpolicy.offline.plan.plan_model import (
    Cause,
    Change,
    Classes,
    Counts,
    InputPlan,
    PodChanged,
    PodClass,
    Side,
)
from kpolicy.offline.snapshots.json_objects import name_of
from kpolicy.policy.assembly.assemble import Program

_JUDGED: Final = frozenset({*ACTED_ON, Verdict.FAILED})


class _Judged(NamedTuple):
    """What a policy says about a recorded decision. `node` is empty if the pod is on none."""

    uid: str
    pod: str
    node: str
    is_served: bool
    at_ns: int


class _Rejection(NamedTuple):
    """Why a policy does not put a pod on a node: the rule, if one rejects it, and what the pod is
    told."""

    rule: str
    message: str


class _Judging(OtherPolicy):
    """Keeps every opinion. `preferred`: the nodes that another policy wants, decision by decision,
    which are taken where they are as good."""

    decisions = Decisions.READ

    def __init__(
        self,
        program: Program,
        preferred: Sequence[str] | None = None,
        progress: Progress | None = None,
        until_ns: int | None = None,
    ) -> None:
        super().__init__(program, progress=progress, until_ns=until_ns)
        self.judged: list[_Judged] = []
        self.class_of: dict[str, PodClass] = {}
        self.labels_of: dict[str, Mapping[str, Any]] = {}
        # Why the first pods do not get the preferred node, by uid; without a rule, for its score.
        self.rejections: dict[str, _Rejection] = {}
        self._preferred = preferred

    def opinions(self, acted: Sequence[DecidedPod], at_ns: int) -> list[Opinion]:
        if self._preferred is None:
            return super().opinions(acted, at_ns)
        start = len(self.judged)
        wanted = self._preferred[start : start + len(acted)]
        return [self._opinion(pod, node, at_ns) for pod, node in zip(acted, wanted, strict=True)]

    def _opinion(self, pod: DecidedPod, wanted: str, at_ns: int) -> Opinion:
        if wanted and wanted != pod.node:
            [opinion] = self.engine.second_opinions([(pod.uid, wanted)], at_ns)
            self.engine.settle([(pod.uid, Outcome.FAILED)], at_ns)
            super().opinions([pod], at_ns)
        else:
            [opinion] = super().opinions([pod], at_ns)
        if wanted and opinion.node != wanted and len(self.rejections) < REASONS_MAX:
            self.rejections[pod.uid] = self._rejection(pod.uid, wanted, at_ns)
        return opinion

    def _rejection(self, uid: str, node: str, at_ns: int) -> _Rejection:
        request = json.dumps({"uids": [uid], "nodes": [node]}).encode()
        explained = json_of(self.engine.explain(request, at_ns))
        status = explained.get("preFilter") or next(
            (each.get("filter") for each in explained.get("nodes", ()) if each["name"] == node),
            None,
        )
        rule = str(status["plugin"]) if status else ""
        return _Rejection(rule, str(explained.get("message", "")))

    def count_opinions(
        self, acted: Sequence[DecidedPod], opinions: Sequence[Opinion], at_ns: int
    ) -> None:
        super().count_opinions(acted, opinions, at_ns)
        for pod, opinion in zip(acted, opinions, strict=True):
            is_served = opinion.verdict in _JUDGED
            node = opinion.node if opinion.verdict == Verdict.PLACED else ""
            self.judged.append(_Judged(pod.uid, pod.key, node, is_served, at_ns))

    def see(self, call: Call) -> None:
        super().see(call)
        match call:
            case Call("list_page", ("nodes", bytes() as body, *_)):
                self._see_nodes(page_items(body))
            case Call("watch", ("nodes", bytes() as lines, *_)):
                self._see_nodes([item for _, item in watch_events(lines)])
            case Call("list_page", ("pods", bytes() as body, *_)):
                self._see_pods(page_items(body))
            case Call("watch", ("pods", bytes() as lines, *_)):
                added = b"\n".join(line for line in lines.splitlines() if b'"ADDED"' in line)
                self._see_pods([item for _, item in watch_events(added)])

    def see_calls(self, ahead: AheadCalls, count: int) -> None:
        for position, frame in enumerate(ahead.frames[:count]):
            if frame.name == "watch":
                self.see(call_of(ahead.record(position)))

    def _see_nodes(self, nodes: Sequence[Any]) -> None:
        for node in nodes:
            if isinstance(node, dict) and name_of(node):
                self.labels_of[name_of(node)] = seen_node(node).labels

    def _see_pods(self, pods: Sequence[Any]) -> None:
        for pod in pods:
            metadata = pod.get("metadata") if isinstance(pod, dict) else None
            if isinstance(metadata, dict):
                self.class_of[str(metadata.get("uid"))] = class_of_pod(pod)


def journal_plan(
    journal: JournalInput,
    old: Program,
    new: Program,
    *,
    name: str = "",
    labels: Sequence[str] = (),
    progress: Progress | None = None,
) -> InputPlan:
    """`progress` counts decisions of both policies. Raises `PolicyRefusedError`."""
    first = _Judging(old, progress=progress)
    _replay(first, journal)
    done = len(first.judged)
    second = _Judging(
        new,
        [judged.node for judged in first.judged],
        None if progress is None else lambda decisions: progress(done + decisions),
    )
    _replay(second, journal)
    last = {was.uid: (was, is_now) for was, is_now in zip(first.judged, second.judged, strict=True)}
    pairs = [pair for pair in last.values() if pair[0].is_served or pair[1].is_served]
    rejections = {**_old_rejections(old, journal, first, second), **second.rejections}
    changes = [
        change for was, is_now in pairs if (change := _change(second, rejections, was, is_now))
    ]
    where = [("", was.node, is_now.node) for was, is_now in pairs]
    times = [judged.at_ns for judged in first.judged]
    began = [epoch.header.began_ns for epoch in journal.epochs]
    return InputPlan(
        "journal",
        name,
        _classes(second, pairs, changes),
        tuple(changes),
        Measures(
            spread={
                label: values
                for label, values in spread(second.labels_of, where, labels).items()
                if where
            }
        ),
        from_ns=min(began, default=None),
        to_ns=max(times, default=None),
        decisions=len(first.judged),
        problems=(*journal.problems, *first.compared.problems),
    )


def _replay(judging: _Judging, journal: JournalInput) -> None:
    for epoch in journal.epochs:
        judging.replay(epoch)


def _old_rejections(
    old: Program, journal: JournalInput, first: _Judging, second: _Judging
) -> dict[str, _Rejection]:
    """Why the old policy does not place the first pods that only the new one places. The old one is
    asked again, about the nodes of the new one."""
    last = {was.uid: number for number, was in enumerate(first.judged)}
    placed = [
        number
        for number in sorted(last.values())
        if second.judged[number].node and not first.judged[number].node
    ][:REASONS_MAX]
    if not placed:
        return {}
    wanted = [""] * len(first.judged)
    for number in placed:
        wanted[number] = second.judged[number].node
    again = _Judging(old, wanted, until_ns=first.judged[placed[-1]].at_ns)
    _replay(again, journal)
    return again.rejections


def _change(
    judging: _Judging, rejections: Mapping[str, _Rejection], was: _Judged, is_now: _Judged
) -> PodChanged | None:
    if was.node == is_now.node:
        return None
    change = Change.PARKED
    if is_now.node:
        change = Change.MOVED if was.node else Change.PLACED
    of = judging.class_of.get(was.uid) or PodClass(was.pod)
    why = rejections.get(was.uid)
    changed = PodChanged(was.pod, of, change, Cause.RULES, was.node, is_now.node)
    if why is None:
        return changed
    return replace(changed, rule=why.rule, message="" if is_now.node else why.message)


def _classes(
    judging: _Judging,
    pairs: Sequence[tuple[_Judged, _Judged]],
    changes: Sequence[PodChanged],
) -> Classes:
    found: dict[PodClass, Counts] = {}
    for was, is_now in pairs:
        of = judging.class_of.get(was.uid) or PodClass(was.pod)
        counts = Counts(1, _side(was), _side(is_now))
        found[of] = found.get(of, Counts()) + counts
    changed: dict[PodClass, Counter[Change]] = {}
    for each in changes:
        changed.setdefault(each.of, Counter())[each.change] += 1
    return {of: counts + Counts(changed=changed.get(of, {})) for of, counts in found.items()}


def _side(judged: _Judged) -> Side:
    if not judged.is_served:
        return Side()
    return Side(placed=1) if judged.node else Side(parked=1)
