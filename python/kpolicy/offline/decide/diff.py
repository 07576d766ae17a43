"""Why two policies decide differently for one pod.

Owns the finding of the rule that made the difference, from what `explain` says of the pod under
each. Assumes explanations of the state in which each policy decided. Must not decide.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from kpolicy.engine import Decision, Engine, PodChange
from kpolicy.offline.limits import BATCH_PODS, REASONS_MAX
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.object_kinds import DEFAULT_SCHEDULER, key_of
from kpolicy.offline.snapshots.pod_lookup import key_of_pod, queue_order, unplaced
from kpolicy.offline.snapshots.snapshot import Progress, Snapshot
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.compile import EVERY_POD

Which = Literal["old", "new"]
Explanation = Mapping[str, Any]
# Rules told of a difference in scores, the largest first.
_RULES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Rejection:
    """`policy` rejects `node`, which the other takes; without a node, the pod as a whole."""

    policy: Which
    rule: str
    reasons: tuple[str, ...]
    node: str = ""

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {"kind": "rejected", "by": self.policy, "rule": self.rule}
        line |= {"node": self.node} if self.node else {}
        return {**line, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True)
class Scored:
    """One rule's weighted scores of the old and the new node, under both policies; `shift` is how
    much it turned towards the new one. Absent where a policy has no such rule."""

    rule: str
    shift: int
    old: Mapping[str, int] = field(default_factory=dict)
    new: Mapping[str, int] = field(default_factory=dict)

    def line(self) -> dict[str, Any]:
        scores = {"old": dict(self.old), "new": dict(self.new)}
        return {"rule": self.rule, "shift": self.shift, **scores}


@dataclass(frozen=True, slots=True)
class Outscored:
    """Both policies would take either node; scores, or a tie, made the difference."""

    rules: tuple[Scored, ...]

    @property
    def is_tie(self) -> bool:
        return not self.rules

    def line(self) -> dict[str, Any]:
        return (
            {"kind": "tie"}
            if self.is_tie
            else {"kind": "scores", "rules": [one.line() for one in self.rules]}
        )


Reason = Rejection | Outscored


def reason(old: Explanation, new: Explanation, old_node: str, new_node: str) -> Reason | None:
    """What made the difference between the two nodes (empty: none was found)."""
    if old_node and (rejected := _rejection("new", new, old_node)):
        return rejected
    if new_node and (rejected := _rejection("old", old, new_node)):
        return rejected
    if not (old_node and new_node):
        return None
    return Outscored(_scored(old, new, old_node, new_node))


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
    return next((one for one in explanation.get("nodes", ()) if one["name"] == name), {})


def _scored(old: Explanation, new: Explanation, old_node: str, new_node: str) -> tuple[Scored, ...]:
    before = {name: _node(old, name).get("weighted", {}) for name in (old_node, new_node)}
    after = {name: _node(new, name).get("weighted", {}) for name in (old_node, new_node)}
    rules = dict.fromkeys(rule for scores in (*before.values(), *after.values()) for rule in scores)
    found = []
    for rule in rules:
        was = {name: scores[rule] for name, scores in before.items() if rule in scores}
        is_now = {name: scores[rule] for name, scores in after.items() if rule in scores}
        shift = _lead(is_now, old_node, new_node) - _lead(was, old_node, new_node)
        if shift:
            found.append(Scored(rule, shift, was, is_now))
    return tuple(sorted(found, key=lambda one: (-one.shift, one.rule))[:_RULES_MAX])


def _lead(scores: Mapping[str, int], old_node: str, new_node: str) -> int:
    return scores.get(new_node, 0) - scores.get(old_node, 0)


_NOW_NS: Final = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """What one policy decides: a node, why not, or that no profile of it serves the pod."""

    node: str = ""
    message: str = ""
    is_served: bool = True

    def line(self) -> dict[str, Any]:
        if not self.is_served:
            return {"notServed": True}
        return {"node": self.node} if self.node else {"message": self.message}


@dataclass(frozen=True, slots=True)
class Difference:
    """`reason` is None where no single rule tells, and beyond the first differences."""

    pod: str
    old: Judged
    new: Judged
    is_placed: bool = False
    reason: Reason | None = None

    @property
    def kind(self) -> str:
        if self.old.is_served is not self.new.is_served:
            return "servedByNew" if self.new.is_served else "servedByOld"
        if self.old.node and self.new.node:
            return "moved"
        return "placedByNew" if self.new.node else "placedByOld"

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {
            "pod": self.pod,
            "kind": self.kind,
            "old": self.old.line(),
            "new": self.new.line(),
        }
        if self.is_placed:
            line["onNode"] = True
        if self.reason is not None:
            line["why"] = self.reason.line()
        return line


@dataclass(frozen=True, slots=True)
class Diff:
    """`pods` counts all that at least one policy serves."""

    differences: tuple[Difference, ...]
    pods: int
    placed_by_old: int
    placed_by_new: int
    by_rule: Counter[str] = field(default_factory=Counter)

    def line(self) -> dict[str, Any]:
        kinds = Counter(one.kind for one in self.differences)
        names = ("moved", "placedByOld", "placedByNew", "servedByOld", "servedByNew")
        summary = {
            "pods": self.pods,
            "differ": len(self.differences),
            **{kind: kinds[kind] for kind in names},
            "old": {"placed": self.placed_by_old},
            "new": {"placed": self.placed_by_new},
            "byRule": dict(sorted(self.by_rule.items(), key=lambda one: (-one[1], one[0]))),
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
    sides = (_Side(snapshot, old, seed), _Side(snapshot, new, seed))
    judged = [side.pending(progress) for side in sides]
    found = list(_paired(judged[0], judged[1], is_placed=False))
    counted = [sum(bool(one.node) for one in each.values()) for each in judged]
    pods = len(judged[0].keys() | judged[1].keys())
    found = _with_reasons(snapshot, (old, new), seed, found)
    if all_pods:
        fresh = (_Side(snapshot, old, seed), _Side(snapshot, new, seed))
        on_nodes = _OnNodes(snapshot, fresh)
        placed = on_nodes.judged(progress)
        differing = [one for one in placed if one.old != one.new]
        found += [on_nodes.with_reason(one) for one in differing[:REASONS_MAX]]
        found += differing[REASONS_MAX:]
        pods += len(placed)
        counted[0] += sum(bool(one.old.node) for one in placed)
        counted[1] += sum(bool(one.new.node) for one in placed)
    return Diff(tuple(found), pods, counted[0], counted[1], _by_rule(found))


def _by_rule(found: list[Difference]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for one in found:
        if isinstance(one.reason, Rejection):
            counted[one.reason.rule] += 1
        elif one.reason is not None and one.reason.rules:
            counted[one.reason.rules[0].rule] += 1
    return counted


def _paired(
    old: Mapping[str, Judged], new: Mapping[str, Judged], *, is_placed: bool
) -> Iterator[Difference]:
    unserved = Judged(is_served=False)
    for pod in dict.fromkeys((*old, *new)):
        one = Difference(pod, old.get(pod, unserved), new.get(pod, unserved), is_placed)
        if (one.old.node, one.old.is_served) != (one.new.node, one.new.is_served):
            yield one


class _Side:
    """One policy with an engine of its own."""

    def __init__(self, snapshot: Snapshot, program: Program, seed: int) -> None:
        self.engine: Engine = snapshot.engine(program, seed=seed)
        self._served = frozenset(program.scheduler_names)

    def serves(self, scheduler_name: str) -> bool:
        return EVERY_POD in self._served or scheduler_name in self._served

    def queue(self) -> list[PodChange]:
        waiting = (pod for pod in self.engine.pending() if self.serves(pod.scheduler_name))
        return queue_order(waiting)

    def pending(self, progress: Progress | None) -> dict[str, Judged]:
        queue = self.queue()
        judged: dict[str, Judged] = {}
        for start in range(0, len(queue), BATCH_PODS):
            for decision in self.decided(queue[start : start + BATCH_PODS]):
                judged[f"{decision.namespace}/{decision.name}"] = _judged(decision)
            if progress is not None:
                progress(min(start + BATCH_PODS, len(queue)), len(queue))
        return judged

    def decided(self, pods: list[PodChange]) -> list[Decision]:
        return self.engine.schedule([pod.uid for pod in pods], _NOW_NS).decisions

    def explained(self, key: str) -> Explanation:
        lines = self.engine.explain(json.dumps({"pods": [key]}).encode(), _NOW_NS).splitlines()
        explained: Explanation = json.loads(lines[0]) if lines else {}
        return explained


def _judged(decision: Decision) -> Judged:
    return Judged(decision.node, "" if decision.node else decision.message)


def _with_reasons(
    snapshot: Snapshot, programs: tuple[Program, Program], seed: int, found: list[Difference]
) -> list[Difference]:
    """Both policies once more, up to each of the first differences: there they are asked why."""
    asked = {one.pod: one for one in found[:REASONS_MAX] if one.old.is_served is one.new.is_served}
    if not asked:
        return found
    told: dict[str, list[Explanation]] = {key: [] for key in asked}
    for program in programs:
        side = _Side(snapshot, program, seed)
        waiting: list[PodChange] = []
        for pod in side.queue():
            key = key_of_pod(pod)
            if key in told:
                _decide(side, waiting)
                waiting = []
                told[key].append(side.explained(key))
            waiting.append(pod)
    reasons = {
        key: reason(explained[0], explained[1], asked[key].old.node, asked[key].new.node)
        for key, explained in told.items()
    }
    return [replace(one, reason=reasons.get(one.pod)) for one in found]


def _decide(side: _Side, pods: list[PodChange]) -> None:
    for start in range(0, len(pods), BATCH_PODS):
        side.decided(pods[start : start + BATCH_PODS])


class _OnNodes:
    """Pods that are on a node, each judged as if it were not there. Assumes engines in which no
    pending pod has been placed."""

    def __init__(self, snapshot: Snapshot, sides: tuple[_Side, _Side]) -> None:
        self._sides = sides
        self._pods = {
            key_of(item): item
            for _, item in snapshot.objects()
            if item.get("kind") == "Pod"
            and (item.get("spec") or {}).get("nodeName")
            and (item.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        }

    def judged(self, progress: Progress | None) -> list[Difference]:
        judged: list[Difference] = []
        for position, (key, pod) in enumerate(self._pods.items(), start=1):
            old, new = (self._one(side, pod) for side in self._sides)
            if old.is_served or new.is_served:
                judged.append(Difference(key, old, new, is_placed=True))
            if progress is not None:
                progress(position, len(self._pods))
        return judged

    def with_reason(self, one: Difference) -> Difference:
        if one.old.is_served is not one.new.is_served:
            return one
        old, new = (self._explained(side, one.pod) for side in self._sides)
        return replace(one, reason=reason(old, new, one.old.node, one.new.node))

    def _explained(self, side: _Side, key: str) -> Explanation:
        with unplaced(side.engine, self._pods[key]):
            return side.explained(key)

    def _one(self, side: _Side, pod: Json) -> Judged:
        scheduler_name = str(pod["spec"].get("schedulerName") or DEFAULT_SCHEDULER)
        if not side.serves(scheduler_name):
            return Judged(is_served=False)
        explained = self._explained(side, key_of(pod))
        node = str(explained.get("selected", ""))
        return Judged(node, "" if node else str(explained.get("message", "")))
