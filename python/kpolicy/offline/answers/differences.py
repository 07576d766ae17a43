"""A difference between what two policies decide for a pod, and the rule that made it. `Diff` holds
all of them, as `diff` prints them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal

from kpolicy.offline.answers.diff_overview import Overview
from kpolicy.offline.reports.columns import largest_first
from kpolicy.quick_dataclass import dataclass

Which = Literal["old", "new"]
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
    def is_difference(self) -> bool:
        """Why a pod is pending is not compared."""
        return (self.old.node, self.old.is_served) != (self.new.node, self.new.is_served)

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
    """`pods` counts all that at least one policy serves; `overview` is of the pending ones.
    `releases` of Kubernetes are followed by the old and by the new policy."""

    differences: tuple[Difference, ...]
    pods: int
    placed_by_old: int
    placed_by_new: int
    overview: Overview
    by_rule: Counter[str] = field(default_factory=Counter)
    releases: tuple[str, str] = ("", "")

    @property
    def is_of_two_releases(self) -> bool:
        return self.releases[0] != self.releases[1]

    def line(self) -> dict[str, Any]:
        kinds = Counter(difference.kind for difference in self.differences)
        summary = {
            "pods": self.pods,
            "differ": len(self.differences),
            **{kind: kinds[kind] for kind in _KINDS},
            "old": self._side(self.placed_by_old, self.releases[0]),
            "new": self._side(self.placed_by_new, self.releases[1]),
            "byRule": dict(largest_first(self.by_rule)),
            **self.overview.line(),
        }
        return {"summary": summary}

    def _side(self, placed: int, release: str) -> dict[str, Any]:
        return {"placed": placed, **({"release": release} if self.is_of_two_releases else {})}
