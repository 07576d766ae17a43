"""Lets an old and a new policy decide about the pending pods of a snapshot, and tells apart what
the rules of the new one change and what only follows from it.

Three engines hold the cluster. In the first, the old policy decides. The second follows it, and the
new policy says about each decision what it would have been: as the cluster is the same, the rules
make each difference. In the third, the new policy decides everything itself. Among nodes with equal
scores, the new policy takes the one that the old policy took: no difference is one of chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise

from kpolicy.engine import Decision, Opinion, Outcome, PodChange, Verdict
from kpolicy.engine.opinions import ACTED_ON, DIFFERENT, Result
from kpolicy.offline.answers.differences import Difference, Judged
from kpolicy.offline.answers.pod_decisions import (
    Decide,
    PolicyOnSnapshot,
    SimulatedPod,
    Simulating,
    decide,
)
from kpolicy.offline.answers.policy_diff import explained_by_uid, first_rule, reason_between
from kpolicy.offline.limits import BATCH_PODS, REASONS_MAX, STRAYED_MAX
from kpolicy.offline.snapshots.cluster_snapshot import Progress, Snapshot
from kpolicy.policy.assembly.assemble import Program
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DecidedTwice:
    """A pod as each policy decided about it; None if that policy does not serve it. `result`: what
    the new policy says in the cluster in which the old one decided, None if it was not asked, as
    about a pod that the old one could not judge. `is_held`: in the queue of the new policy."""

    old: SimulatedPod | None
    new: SimulatedPod | None
    result: Result | None = None
    rule: str = ""
    is_held: bool = False

    @property
    def pod(self) -> SimulatedPod:
        found = self.old or self.new
        assert found is not None, "a policy decided about it"
        return found

    @property
    def is_by_rules(self) -> bool:
        is_other = self.result is None or self.result in DIFFERENT
        return is_other or self.is_held or self.old is None or self.new is None


def decided_twice(
    snapshot: Snapshot,
    old: Program,
    new: Program,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[DecidedTwice]:
    """In the order in which the old policy decided. Raises `PolicyRefusedError`."""
    beside = _InTheSameCluster(snapshot, new, seed=seed)
    first = _Followed(snapshot, old, beside, seed=seed)
    was = {pod.uid: pod for pod in first.pods(_half(progress, 0))}
    alone = _Alone(snapshot, new, {uid: pod.node for uid, pod in was.items()}, seed=seed)
    is_now = {pod.uid: pod for pod in alone.pods(_half(progress, 1))}
    held = {uid: pod.rejected_by[0] for uid, pod in is_now.items() if uid not in alone.decided}
    return [
        DecidedTwice(
            was.get(uid),
            is_now.get(uid),
            beside.results.get(uid),
            held.get(uid) or beside.rules.get(uid, ""),
            is_held=uid in held,
        )
        for uid in dict.fromkeys((*was, *is_now))
    ]


def _half(progress: Progress | None, which: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(which * total + done, 2 * total)


class _InTheSameCluster(PolicyOnSnapshot):
    """The new policy, asked about each decision of the old one. Its engine takes each over."""

    def __init__(self, snapshot: Snapshot, policy: Program, *, seed: int) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self.results: dict[str, Result] = {}
        # The rules that made the first differences.
        self.rules: dict[str, str] = {}
        self._reasons_left = REASONS_MAX

    def follow(self, old: PolicyOnSnapshot, decisions: Sequence[Decision]) -> None:
        acted = [decision for decision in decisions if decision.verdict in ACTED_ON]
        different: list[tuple[int, Opinion]] = []
        for position, (decision, opinion) in enumerate(
            zip(acted, self._opinions(acted), strict=True)
        ):
            self.results[decision.uid] = opinion.result
            if opinion.result in DIFFERENT:
                different.append((position, opinion))
        if different and self._reasons_left:
            self._explain(old, acted, different[: self._reasons_left])

    def _opinions(self, acted: Sequence[Decision]) -> list[Opinion]:
        """A pod for which others are to be evicted keeps its node from pods of lower priority, so
        the pods after it are judged once it does so here too."""
        found: list[Opinion] = []
        start = 0
        for end, decision in enumerate(acted, start=1):
            if not decision.nominated_node and end < len(acted):
                continue
            asked = [(each.uid, each.node) for each in acted[start:end]]
            found += self.engine.second_opinions(asked, self.now_ns)
            if decision.nominated_node and found[-1].verdict == Verdict.PARKED:
                self.engine.schedule([decision.uid], self.now_ns)
            start = end
        return found

    def _explain(
        self,
        old: PolicyOnSnapshot,
        acted: Sequence[Decision],
        different: Sequence[tuple[int, Opinion]],
    ) -> None:
        """Takes both engines back to each difference, and then over the decisions after it."""
        self._reasons_left -= len(different)
        for side in (old, self):
            _take_back(side, acted[different[0][0] :])
        ends = (*(position for position, _ in different), len(acted))
        for (position, opinion), (_, end) in zip(different, pairwise(ends), strict=True):
            decision = acted[position]
            self.rules[decision.uid] = self._rule(old, decision, opinion)
            asked = [(each.uid, each.node) for each in acted[position:end] if each.node]
            for side in (old, self):
                side.engine.second_opinions(asked, side.now_ns)

    def _rule(self, old: PolicyOnSnapshot, decision: Decision, opinion: Opinion) -> str:
        key = f"{decision.namespace}/{decision.name}"
        nodes = [node for node in (decision.node, opinion.node) if node]
        was, is_now = (
            explained_by_uid(side, [decision.uid], nodes).get(key, {}) for side in (old, self)
        )
        pair = Difference(key, Judged(decision.node), Judged(opinion.node))
        return first_rule(reason_between(pair, was, is_now))


def _take_back(side: PolicyOnSnapshot, decisions: Sequence[Decision]) -> None:
    placed = [(each.uid, Outcome.FAILED) for each in decisions if each.node]
    side.engine.settle(placed, side.now_ns)


class _Followed(Simulating):
    """The old policy, whose decisions another engine follows."""

    def __init__(
        self, snapshot: Snapshot, policy: Program, by: _InTheSameCluster, *, seed: int
    ) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self._by = by

    @contextmanager
    def deciding(self) -> Iterator[Decide]:
        yield self._decide

    def _decide(self, pods: Sequence[PodChange], progress: Progress | None) -> Iterator[Decision]:
        done = 0
        while done < len(pods):
            uids = [pod.uid for pod in pods[done : done + BATCH_PODS]]
            decisions = self.engine.schedule(uids, self.now_ns).decisions
            self._by.follow(self, decisions)
            yield from decisions
            done += len(decisions)
            if progress is not None:
                progress(done, len(pods))


class _Alone(Simulating):
    """The new policy, which decides by itself and takes the old policy's node among equal ones."""

    def __init__(
        self, snapshot: Snapshot, policy: Program, chosen: Mapping[str, str], *, seed: int
    ) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self._chosen = chosen
        # Others were held in the queue.
        self.decided: set[str] = set()
        # Pods so far that did not get the node of the old policy.
        self._strayed = 0

    @contextmanager
    def deciding(self) -> Iterator[Decide]:
        yield self._decide

    def _decide(self, pods: Sequence[PodChange], progress: Progress | None) -> Iterator[Decision]:
        done = 0
        for is_placed, run in groupby(pods, key=lambda pod: bool(self._chosen.get(pod.uid))):
            part = list(run)
            for decision in self._preferring(part) if is_placed else self._by_itself(part):
                self.decided.add(decision.uid)
                yield decision
                done += 1
                if progress is not None:
                    progress(done, len(pods))

    def _by_itself(self, pods: Sequence[PodChange]) -> Iterator[Decision]:
        return decide(self.engine, pods, now_ns=self.now_ns)

    def _preferring(self, pods: Sequence[PodChange]) -> Iterator[Decision]:
        """Many pods at a time, as long as they get the nodes of the old policy. Where one does not,
        those after it were judged in vain."""
        at, step = 0, BATCH_PODS
        while at < len(pods):
            if self._strayed >= STRAYED_MAX:
                yield from self._by_itself(pods[at:])
                return
            part = pods[at : at + step]
            asked = [(pod.uid, self._chosen[pod.uid]) for pod in part]
            opinions = self.engine.second_opinions(asked, self.now_ns)
            pairs = zip(asked, opinions, strict=True)
            agree = next(
                (count for count, ((_, node), other) in enumerate(pairs) if other.node != node),
                len(part),
            )
            yield from (
                _placed(pod, node)
                for pod, (_, node) in zip(part[:agree], asked[:agree], strict=True)
            )
            at += agree
            if agree == len(part):
                step = min(2 * step, BATCH_PODS)
                continue
            undone = [(uid, Outcome.FAILED) for uid, _ in asked[agree:]]
            self.engine.settle(undone, self.now_ns)
            yield from self._elsewhere(part[agree], opinions[agree])
            at, step = at + 1, max(1, step // 2)

    def _elsewhere(self, pod: PodChange, opinion: Opinion) -> Iterator[Decision]:
        self._strayed += 1
        if opinion.verdict != Verdict.PLACED:
            yield from self._by_itself([pod])
            return
        self.engine.second_opinions([(pod.uid, opinion.node)], self.now_ns)
        yield _placed(pod, opinion.node)


def _placed(pod: PodChange, node: str) -> Decision:
    """As the engine would say it, without figures."""
    named = (pod.uid, pod.namespace, pod.name, node, "")
    return Decision(Verdict.PLACED, *named, 0, 0, 0, 0, 0, 0, "", [], [], [], [])
