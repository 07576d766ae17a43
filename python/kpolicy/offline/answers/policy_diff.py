"""`diff`: what another policy would decide otherwise on a recorded cluster, and which rule makes it
so.

Pending pods are placed one after the other, as `simulate` does, by both policies at a time: the
first differences are explained in the state in which they arise. Pods on nodes are judged by
themselves, as if they were not there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from kpolicy.engine import Decision, Outcome, PodChange
from kpolicy.offline.answers.diff_overview import Cluster, overview_of
from kpolicy.offline.answers.differences import (
    Diff,
    Difference,
    Judged,
    Outscored,
    Reason,
    Rejection,
    Scored,
    Which,
)
from kpolicy.offline.answers.pod_decisions import PolicyOnSnapshot, decide
from kpolicy.offline.limits import AGAIN_PODS, BATCH_PODS, REASONS_MAX
from kpolicy.offline.snapshots.cluster_snapshot import (
    Progress,
    Snapshot,
    has_ended,
    key_of_pod,
    node_of,
    queue_order,
    scheduler_of,
)
from kpolicy.offline.snapshots.json_objects import Json, key_of, uid_of
from kpolicy.policy.assembly.assemble import Program
from kpolicy.quick_dataclass import dataclass

Explanation = Mapping[str, Any]
# Rules that are listed for a difference in scores, the largest first.
_RULES_MAX: Final = 5


def diff(
    snapshot: Snapshot,
    old: Program,
    new: Program,
    *,
    all_pods: bool = False,
    labels: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> Diff:
    """Compare what two policies decide. Raises `PolicyRefusedError`.

    All pending pods are placed under each; with `all_pods`, every pod on a node is judged again
    under each as well. Without `labels`, shares are counted by zone, capacity type and rack."""
    cluster, on_nodes = Cluster(), _OnNodes()
    seers = (cluster.see, on_nodes.see) if all_pods else (cluster.see,)
    inventory = snapshot.walk(*seers)
    placed = on_nodes.pods()
    first, second = (PolicyOnSnapshot(snapshot, program, seed=seed) for program in (old, new))
    queue = queue_order(
        pod
        for pod in first.engine.pending()
        if first.serves(pod.scheduler_name) or second.serves(pod.scheduler_name)
    )
    total = len(queue) + len(placed)
    # Before any pending pod is placed.
    of_placed = _judged_again(first, second, placed, _part_of(progress, 0, total))
    pending = list(_pending(first, second, queue, _part_of(progress, len(placed), total)))
    overview = overview_of(
        cluster,
        inventory,
        [(pod.uid, pair.old.node, pair.new.node) for pod, pair in pending],
        labels=labels,
    )
    pairs = [*(pair for _, pair in pending), *of_placed]
    found = tuple(pair for pair in pairs if pair.is_difference)
    rules = (first_rule(difference.reason) for difference in found)
    return Diff(
        found,
        len(pairs),
        sum(bool(pair.old.node) for pair in pairs),
        sum(bool(pair.new.node) for pair in pairs),
        overview,
        Counter(rule for rule in rules if rule),
        (old.followed.release, new.followed.release),
    )


def _part_of(progress: Progress | None, before: int, total: int) -> Progress:
    """The progress of one of several parts."""
    return lambda done, _: progress(before + done, total) if progress is not None else None


def first_rule(reason: Reason | None) -> str:
    """The rule that counts for a difference; empty if no rule explains it."""
    if isinstance(reason, Rejection):
        return reason.rule
    return reason.rules[0].rule if reason is not None and reason.rules else ""


class _Reasons:
    """Explains the first differences; each takes a judgement of all nodes by both policies."""

    def __init__(self) -> None:
        self.left = REASONS_MAX

    def are_for(self, pair: Difference) -> bool:
        return self.left > 0 and pair.is_difference and pair.is_served_by_both

    def explained(
        self,
        pairs: Sequence[Difference],
        uids: Mapping[str, str],
        old: PolicyOnSnapshot,
        new: PolicyOnSnapshot,
    ) -> list[Difference]:
        """Asks in the state in which both decided: the engine looks past each pod itself."""
        asked = dict.fromkeys([pair.pod for pair in pairs if self.are_for(pair)][: self.left])
        if not asked:
            return list(pairs)
        self.left -= len(asked)
        sides = [pair for pair in pairs if pair.pod in asked]
        nodes = {each.node: None for pair in sides for each in (pair.old, pair.new) if each.node}
        of_asked = [uids[key] for key in asked]
        was, is_now = (explained_by_uid(side, of_asked, list(nodes)) for side in (old, new))
        return [
            replace(
                pair, reason=reason_between(pair, was.get(pair.pod, {}), is_now.get(pair.pod, {}))
            )
            if pair.pod in asked
            else pair
            for pair in pairs
        ]


def explained_by_uid(
    side: PolicyOnSnapshot, uids: Sequence[str], nodes: Sequence[str]
) -> dict[str, Explanation]:
    """By `namespace/name`, with what these nodes have to say alone."""
    lines = map(json.loads, reversed(side.brief(uids, nodes)))
    return {line["pod"]: line for line in lines}


def _pending(
    old: PolicyOnSnapshot,
    new: PolicyOnSnapshot,
    queue: Sequence[PodChange],
    progress: Progress,
) -> Iterator[tuple[PodChange, Difference]]:
    """Both policies decide pod by pod, so that the first differences can be explained where they
    arise; the rest in larger steps."""
    reasons = _Reasons()
    done = 0
    while done < len(queue):
        step = queue[done : done + (1 if reasons.left else BATCH_PODS)]
        was, is_now = _decided(old, step), _decided(new, step)
        for pod in step:
            key = key_of_pod(pod)
            first, second = was.get(pod.uid), is_now.get(pod.uid)
            pair = Difference(key, _judged(first), _judged(second))
            if reasons.are_for(pair):
                with _without_volumes(old, first), _without_volumes(new, second):
                    [pair] = reasons.explained([pair], {key: pod.uid}, old, new)
            yield pod, pair
        done += len(step)
        progress(done, len(queue))


def _decided(side: PolicyOnSnapshot, pods: Sequence[PodChange]) -> dict[str, Decision]:
    served = [pod for pod in pods if side.serves(pod.scheduler_name)]
    return _by_uid(decide(side.engine, served, now_ns=side.now_ns))


def _by_uid(decisions: Iterable[Decision]) -> dict[str, Decision]:
    return {decision.uid: decision for decision in decisions}


def _judged(decision: Decision | None) -> Judged:
    if decision is None:
        return Judged(is_served=False)
    return Judged(decision.node, "" if decision.node else decision.message)


@contextmanager
def _without_volumes(side: PolicyOnSnapshot, decision: Decision | None) -> Iterator[None]:
    """Inside, volumes that the pod's own placement reserved are free again."""
    if decision is None or not decision.writes:
        yield
        return
    side.engine.settle([(decision.uid, Outcome.FAILED)], side.now_ns)
    yield
    side.engine.second_opinions([(decision.uid, decision.node)], side.now_ns)


@dataclass(frozen=True, slots=True)
class _OnNode:
    key: str
    uid: str
    scheduler_name: str


class _OnNodes:
    """The pods on nodes, as they come by."""

    def __init__(self) -> None:
        self._by_key: dict[str, _OnNode] = {}

    def see(self, item: Json) -> None:
        is_pod = item.get("kind") == "Pod" and isinstance(item.get("metadata"), dict)
        if is_pod and node_of(item) and not has_ended(item):
            key = key_of(item)
            self._by_key[key] = _OnNode(key, uid_of(item), scheduler_of(item))

    def pods(self) -> list[_OnNode]:
        return list(self._by_key.values())


def _judged_again(
    old: PolicyOnSnapshot, new: PolicyOnSnapshot, placed: Sequence[_OnNode], progress: Progress
) -> list[Difference]:
    """Pods on nodes that at least one policy serves, each judged as if it were not there."""
    reasons = _Reasons()
    pairs: list[Difference] = []
    for start in range(0, len(placed), AGAIN_PODS):
        step = placed[start : start + AGAIN_PODS]
        was, is_now = _again(old, step), _again(new, step)
        judged = [
            Difference(
                pod.key, _judged(was.get(pod.uid)), _judged(is_now.get(pod.uid)), is_placed=True
            )
            for pod in step
        ]
        served = [pair for pair in judged if pair.old.is_served or pair.new.is_served]
        pairs += reasons.explained(served, {pod.key: pod.uid for pod in step}, old, new)
        progress(start + len(step), len(placed))
    return pairs


def _again(side: PolicyOnSnapshot, pods: Sequence[_OnNode]) -> dict[str, Decision]:
    served = [pod.uid for pod in pods if side.serves(pod.scheduler_name)]
    return _by_uid(side.decided_again(served))


def reason_between(pair: Difference, old: Explanation, new: Explanation) -> Reason | None:
    """The rule that made the difference between two nodes. An empty node means that the pod fits on
    none."""
    old_node, new_node = pair.old.node, pair.new.node
    if old_node and (rejected := _rejection("new", new, old_node)):
        return rejected
    if new_node and (rejected := _rejection("old", old, new_node)):
        return rejected
    return Outscored(_scored(old, new, old_node, new_node)) if old_node and new_node else None


def _rejection(policy: Which, explanation: Explanation, node: str) -> Rejection | None:
    for stage in ("preEnqueue", "preFilter"):
        status = explanation.get(stage)
        if status:
            return Rejection(policy, status["plugin"], tuple(status["reasons"]))
    status = _node(explanation, node).get("filter")
    if not status:
        return None
    return Rejection(policy, status["plugin"], tuple(status["reasons"]), node)


def _node(explanation: Explanation, name: str) -> Mapping[str, Any]:
    return next((node for node in explanation.get("nodes", ()) if node["name"] == name), {})


def _scored(old: Explanation, new: Explanation, old_node: str, new_node: str) -> tuple[Scored, ...]:
    """Rules whose scores moved towards one of the nodes, the largest shift first."""
    names = (old_node, new_node)
    before, after = (
        {name: _node(explanation, name).get("weighted", {}) for name in names}
        for explanation in (old, new)
    )
    rules = dict.fromkeys(rule for scores in (*before.values(), *after.values()) for rule in scores)
    found = []
    for rule in rules:
        was, is_now = (
            {name: scores[rule] for name, scores in side.items() if rule in scores}
            for side in (before, after)
        )
        lead_now = is_now.get(new_node, 0) - is_now.get(old_node, 0)
        shift = lead_now - (was.get(new_node, 0) - was.get(old_node, 0))
        if shift:
            found.append(Scored(rule, shift, was, is_now))
    return tuple(sorted(found, key=lambda scored: (-scored.shift, scored.rule))[:_RULES_MAX])
