"""Why two policies decide differently for one pod.

Owns the finding of the rule that made the difference, from what `explain` says of the pod under
each. Assumes explanations of the state in which each policy decided. Must not decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

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
