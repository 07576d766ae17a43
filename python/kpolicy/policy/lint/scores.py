"""KP322 and what KP323 can say without a snapshot: scores that are clamped, or equal everywhere.

`Bounds` finds the range of a score by what is known of facts: amounts are never negative and have
no upper bound, a share is about one. Where nothing is known there is no range, and no warning. A
rule that says `normalize`, be it `none`, has thought of its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.cel.facts import Time
from kpolicy.policy.cel.tree import (
    Bind,
    Call,
    Conditional,
    Constant,
    Fact,
    MemberRead,
    NewList,
    Tree,
    Variable,
)
from kpolicy.policy.lint.constant_parts import Folding
from kpolicy.policy.lint.written import RuleExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import Priority
from kpolicy.quick_dataclass import dataclass


def scores(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    bounds = Bounds()
    for rule in policy.rules:
        if isinstance(rule.rule, Priority) and rule.rule.enabled and rule.rule.weight:
            for finding in _of(policy, rule, bounds):
                yield replace(finding, hint=_IN_RANGE) if rule.scores_devices else finding


# There is no `normalize` for the score of an allocation.
_IN_RANGE: Final = "scores are between 0 and 100"


def _of(policy: WrittenPolicy, rule: RuleExpression, bounds: Bounds) -> Iterator[Diagnostic]:
    at = rule.expression
    span = at.tree.span
    if at.tree.time <= Time.POD:
        message = "this score reads nothing of the node, so it is the same on all nodes"
        if rule.scores_devices:
            message = (
                "this score reads nothing of the allocation, so it is the same for all of them"
            )
        # Legacy files have such priorities intentionally.
        if policy.policy.kind == "SchedulingPolicy":
            yield policy.finding(at, "KP323", message, span)
        return
    assert isinstance(rule.rule, Priority)
    folding = Folding()
    folding.fold(at.tree)
    found = bounds.of(at.tree)
    if "normalize" in policy.policy.lost(rule.path):
        return  # it is written, but has an error of its own
    if rule.rule.normalize is not None or found is None or folding.failures or folding.conditions:
        return
    if math.isinf(found.high):
        message = (
            "this score has no upper bound and no `normalize`; every value above 100 is clamped "
            "to 100"
        )
        yield policy.finding(at, "KP322", message, span, "`normalize: {method: max}`")
    elif math.isinf(found.low):
        message = (
            "this score has no lower bound and no `normalize`; every value below 0 is clamped to 0"
        )
        yield policy.finding(at, "KP322", message, span, "`normalize: {method: minmax}`")
    elif found.high <= 0 or found.low >= 100:
        clamped = 0 if found.high <= 0 else 100
        message = f"every value of this score is clamped to {clamped}: it is between "
        message += f"{found.low:,g} and {found.high:,g}"
        yield policy.finding(at, "KP322", message, span, _IN_RANGE)
    elif _is_share(at.tree) and found.high <= 1:
        message = (
            "this share is between 0 and 1, and a score is cut to a whole number from 0 to 100: it "
            "is 0 on nearly every node"
        )
        yield policy.finding(at, "KP322", message, span, "multiply the share by 100.0")
    elif found.high > 100 or found.low < 0:
        ends = f"this score is between {found.low:,g} and {found.high:,g}"
        above = ["every value above 100 is clamped to 100"] if found.high > 100 else []
        below = ["every value below 0 is clamped to 0"] if found.low < 0 else []
        parts = [*above, *below]
        method = "max" if found.low >= 0 else "minmax"
        hint = f"`normalize: {{method: {method}}}`, or scores between 0 and 100"
        yield policy.finding(at, "KP322", f"{ends}; {' and '.join(parts)}", span, hint)


def _is_share(tree: Tree) -> bool:
    """A share of a node's resources, or what such shares and numbers give."""
    match tree:
        case Variable(value=value):
            return _is_share(value)
        case Fact(name=name) | MemberRead(name=name):
            return _FACTS.get(name.rpartition(".")[2]) is _SHARE
        case Call(name=name, args=args):
            if name.startswith("ratio"):
                return True
            is_arithmetic = name.partition("_")[0] in ("add", "subtract", "multiply", "divide")
            others = [arg for arg in args if not isinstance(arg, Constant)]
            return is_arithmetic and bool(others) and all(map(_is_share, others))
    return False


_INF: Final = math.inf


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def joined(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


_AMOUNT: Final = Range(0, _INF)
_SHARE: Final = Range(0, 1)
# Last parts of the names of facts and members.
_FACTS: Final = {
    **dict.fromkeys(
        (
            "free",
            "allocatable",
            "capacity",
            "requested",
            "podCount",
            "podLimit",
            "nodeCount",
            "request",
            "limit",
            "domains",
            "count",
            "sum",
            "size",
            "sameController",
            "controllerReplicas",
            "disruptionsAllowed",
            "whole",
            "devices",
            "distinct",
            "leftOfPool",
        ),
        _AMOUNT,
    ),
    "utilization": _SHARE,
    "leftOfPartition": _SHARE,
    "priority": Range(-_INF, _INF),
}
_NUMBERS: Final = frozenset({"int", "uint", "double"})


@dataclass(slots=True)
class Bounds:
    """The ranges of the trees of one policy; a variable is examined once."""

    _known: dict[int, tuple[Tree, Range | None]] = field(default_factory=dict)

    def of(self, tree: Tree) -> Range | None:
        if id(tree) not in self._known:
            self._known[id(tree)] = (tree, self._range(tree))
        return self._known[id(tree)][1]

    def _range(self, tree: Tree) -> Range | None:
        if tree.type.name not in _NUMBERS:
            return None
        match tree:
            case Constant(value=value):
                is_number = isinstance(value, (int, float)) and not math.isnan(value)
                return Range(value, value) if is_number else None
            case Fact(name=name) | MemberRead(name=name):
                return _FACTS.get(name.rpartition(".")[2])
            case Variable(value=value):
                return self.of(value)
            case Bind(body=body):
                return self.of(body)
            case Conditional(yes=yes, no=no):
                return self._either(yes, no)
            case Call():
                return self._call(tree)
        return None

    def _either(self, yes: Tree, no: Tree) -> Range | None:
        """The range of both branches; of one, if the other is unknown and this one has no bound."""
        ranges = [found for found in (self.of(yes), self.of(no)) if found is not None]
        if len(ranges) == 2:
            return ranges[0].joined(ranges[1])
        return ranges[0] if ranges and math.isinf(ranges[0].high) else None

    def _call(self, tree: Call) -> Range | None:
        name, args = tree.name, tree.args
        if name.startswith("ratio"):
            return _SHARE
        if name.startswith("linear"):
            ends = self.of(args[3]), self.of(args[4])
            return ends[0].joined(ends[1]) if ends[0] and ends[1] else None
        if name in ("math_least_list", "math_greatest_list"):
            items = args[0].args if isinstance(args[0], NewList) else ()
            return self._extreme(items, min if name == "math_least_list" else max)
        ranges = [self.of(arg) for arg in args]
        if name.startswith("clamp"):
            _, low, high = ranges
            return Range(low.low, high.high) if low and high else None
        sound = [found for found in ranges if found is not None]
        if len(sound) < len(ranges) or not sound:
            return None
        return _combined(name.partition("_")[0], sound)

    def _extreme(
        self, items: tuple[Tree, ...], pick: Callable[[list[float]], float]
    ) -> Range | None:
        """The range of the smallest or the largest item, if the ranges of all items are known."""
        ranges = [found for item in items if (found := self.of(item)) is not None]
        if not ranges or len(ranges) < len(items):
            return None
        return Range(pick([found.low for found in ranges]), pick([found.high for found in ranges]))


def _combined(family: str, ranges: list[Range]) -> Range | None:
    match family, ranges:
        case "to", [first, *_]:
            return first
        case "negate", [first, *_]:
            return Range(-first.high, -first.low)
        case "add", [first, second]:
            return Range(first.low + second.low, first.high + second.high)
        case "subtract", [first, second]:
            return Range(first.low - second.high, first.high - second.low)
        case "multiply", [first, second]:
            return _between(_product(a, b) for a in first.ends for b in second.ends)
        case "divide", [first, Range(low, high)] if low == high != 0:
            return _between(end / low for end in first.ends)
        case "modulo", [first, Range(low, high)] if low == high:
            return Range(-abs(low) if first.low < 0 else 0, abs(low))
    # An amount divided by another is a share, whose range is not known.
    return None


def _between(ends: Iterable[float]) -> Range:
    low, *_, high = sorted(ends)
    return Range(low, high)


def _product(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b
