"""`diff`: what another policy would decide otherwise on a recorded cluster, and which rule makes it
so.

Pending pods are placed one after the other, as `simulate` does. Pods on nodes are judged by
themselves, as if they were not there. A second run asks for the reasons; it stops at each
difference to explain the pod in the state in which the policy decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from kpolicy.engine import PodChange
from kpolicy.offline.answers.pod_decisions import PolicyOnSnapshot, decide
from kpolicy.offline.limits import REASONS_MAX
from kpolicy.offline.reports.columns import largest_first
from kpolicy.offline.snapshots.cluster_snapshot import (
    Progress,
    Snapshot,
    has_ended,
    key_of_pod,
    node_of,
    pods_of,
    scheduler_of,
    unplaced,
)
from kpolicy.offline.snapshots.json_objects import key_of
from kpolicy.policy.assembly.assemble import Program

Which = Literal["old", "new"]
Explanation = Mapping[str, Any]
# Rules that are listed for a difference in scores, the largest first.
_RULES_MAX: Final = 5
_KINDS: Final = ("moved", "placedByOld", "placedByNew", "servedByOld", "servedByNew")


@dataclass(frozen=True, slots=True)
class Rejection:
    """`policy` rejects `node`, which the other policy accepts; without a node, the pod as a
    whole."""

    policy: Which
    rule: str
    reasons: tuple[str, ...]
    node: str = ""

    def line(self) -> dict[str, Any]:
        node = {"node": self.node} if self.node else {}
        rejected = {"kind": "rejected", "by": self.policy, "rule": self.rule}
        return {**rejected, **node, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True)
class Scored:
    """One rule's weighted scores of the old and the new node, under both policies. A policy without
    the rule has none. `shift` is how far the rule moved towards the new node."""

    rule: str
    shift: int
    old: Mapping[str, int] = field(default_factory=dict)
    new: Mapping[str, int] = field(default_factory=dict)

    def line(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "shift": self.shift,
            "old": dict(self.old),
            "new": dict(self.new),
        }


@dataclass(frozen=True, slots=True)
class Outscored:
    """Both policies accept both nodes: scores, or the choice among equal scores, made the
    difference."""

    rules: tuple[Scored, ...]

    @property
    def is_tie(self) -> bool:
        return not self.rules

    def line(self) -> dict[str, Any]:
        rules = [scored.line() for scored in self.rules]
        return {"kind": "scores", "rules": rules} if rules else {"kind": "tie"}


Reason = Rejection | Outscored


@dataclass(frozen=True, slots=True)
class Judged:
    """The decision of one policy: a node, why there is none, or that no profile serves the pod."""

    node: str = ""
    message: str = ""
    is_served: bool = True

    def line(self) -> dict[str, Any]:
        if not self.is_served:
            return {"notServed": True}
        return {"node": self.node} if self.node else {"message": self.message}


@dataclass(frozen=True, slots=True)
class Difference:
    """A pod that the policies decide differently. `reason` is None if no single rule explains it,
    and beyond the first differences."""

    pod: str
    old: Judged
    new: Judged
    is_placed: bool = False
    reason: Reason | None = None

    @property
    def is_served_by_both(self) -> bool:
        return self.old.is_served and self.new.is_served

    @property
    def kind(self) -> str:
        if not self.is_served_by_both:
            return "servedByNew" if self.new.is_served else "servedByOld"
        if self.old.node and self.new.node:
            return "moved"
        return "placedByNew" if self.new.node else "placedByOld"

    def line(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "kind": self.kind,
            "old": self.old.line(),
            "new": self.new.line(),
            **({"onNode": True} if self.is_placed else {}),
            **({"why": self.reason.line()} if self.reason is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class Diff:
    """`pods` counts all that at least one policy serves."""

    differences: tuple[Difference, ...]
    pods: int
    placed_by_old: int
    placed_by_new: int
    by_rule: Counter[str] = field(default_factory=Counter)

    def line(self) -> dict[str, Any]:
        kinds = Counter(difference.kind for difference in self.differences)
        summary = {
            "pods": self.pods,
            "differ": len(self.differences),
            **{kind: kinds[kind] for kind in _KINDS},
            "old": {"placed": self.placed_by_old},
            "new": {"placed": self.placed_by_new},
            "byRule": dict(largest_first(self.by_rule)),
        }
        return {"summary": summary}


def diff(
    snapshot: Snapshot,
    old: Program,
    new: Program,
    *,
    all_pods: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Diff:
    """Compare what two policies decide. Raises `PolicyRefusedError`.

    All pending pods are placed under each; with `all_pods`, every pod on a node is judged again
    under each as well."""
    pairs = _pending_pairs(
        *(_judge_pending(snapshot, program, seed, progress) for program in (old, new))
    )
    differing = [
        pair
        for pair in pairs
        if (pair.old.node, pair.old.is_served) != (pair.new.node, pair.new.is_served)
    ]
    found = _with_reasons(snapshot, (old, new), seed, differing)
    if all_pods:
        on_nodes = _OnNodes(snapshot, old, new, seed)
        placed = on_nodes.judged(progress)
        differing = [pair for pair in placed if pair.old != pair.new]
        found += [on_nodes.with_reason(pair) for pair in differing[:REASONS_MAX]]
        found += differing[REASONS_MAX:]
        pairs += placed
    rules = (_first_rule(difference.reason) for difference in found)
    return Diff(
        tuple(found),
        len(pairs),
        sum(bool(pair.old.node) for pair in pairs),
        sum(bool(pair.new.node) for pair in pairs),
        Counter(rule for rule in rules if rule),
    )


def _first_rule(reason: Reason | None) -> str:
    if isinstance(reason, Rejection):
        return reason.rule
    return reason.rules[0].rule if reason is not None and reason.rules else ""


def _judge_pending(
    snapshot: Snapshot, policy: Program, seed: int, progress: Progress | None
) -> dict[str, Judged]:
    side = PolicyOnSnapshot(snapshot, policy, seed=seed)
    return {
        f"{decision.namespace}/{decision.name}": Judged(
            decision.node, "" if decision.node else decision.message
        )
        for decision in decide(side.engine, side.pending(), progress)
    }


def _pending_pairs(old: Mapping[str, Judged], new: Mapping[str, Judged]) -> list[Difference]:
    unserved = Judged(is_served=False)
    return [
        Difference(pod, old.get(pod, unserved), new.get(pod, unserved))
        for pod in dict.fromkeys((*old, *new))
    ]


def _with_reasons(
    snapshot: Snapshot, programs: tuple[Program, Program], seed: int, found: list[Difference]
) -> list[Difference]:
    """Runs both policies once more and explains the first differences."""
    asked = {pair.pod: pair for pair in found[:REASONS_MAX] if pair.is_served_by_both}
    if not asked:
        return found
    explanations: dict[str, list[Explanation]] = {key: [] for key in asked}
    for program in programs:
        side = PolicyOnSnapshot(snapshot, program, seed=seed)
        waiting: list[PodChange] = []
        for pod in side.pending():
            key = key_of_pod(pod)
            if key in asked:
                list(decide(side.engine, waiting))
                waiting = []
                explanations[key].append(side.explanation(key))
            waiting.append(pod)
    reasons = {key: _reason(asked[key], *explanations[key]) for key in asked}
    return [replace(pair, reason=reasons.get(pair.pod)) for pair in found]


class _OnNodes:
    """Pods on nodes, each judged as if it were not there. Meanwhile no pending pod is placed."""

    def __init__(self, snapshot: Snapshot, old: Program, new: Program, seed: int) -> None:
        self._old, self._new = (
            PolicyOnSnapshot(snapshot, program, seed=seed) for program in (old, new)
        )
        self._pods = {
            key_of(pod): pod for pod in pods_of(snapshot) if node_of(pod) and not has_ended(pod)
        }

    def judged(self, progress: Progress | None) -> list[Difference]:
        """Pods that at least one policy serves."""
        pairs: list[Difference] = []
        for position, key in enumerate(self._pods, start=1):
            old, new = self._judge(self._old, key), self._judge(self._new, key)
            if old.is_served or new.is_served:
                pairs.append(Difference(key, old, new, is_placed=True))
            if progress is not None:
                progress(position, len(self._pods))
        return pairs

    def with_reason(self, pair: Difference) -> Difference:
        if not pair.is_served_by_both:
            return pair
        old, new = self._explain(self._old, pair.pod), self._explain(self._new, pair.pod)
        return replace(pair, reason=_reason(pair, old, new))

    def _explain(self, side: PolicyOnSnapshot, key: str) -> Explanation:
        with unplaced(side.engine, self._pods[key]):
            return side.explanation(key)

    def _judge(self, side: PolicyOnSnapshot, key: str) -> Judged:
        if not side.serves(scheduler_of(self._pods[key])):
            return Judged(is_served=False)
        explained = self._explain(side, key)
        node = str(explained.get("selected", ""))
        return Judged(node, "" if node else str(explained.get("message", "")))


def _reason(pair: Difference, old: Explanation, new: Explanation) -> Reason | None:
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
