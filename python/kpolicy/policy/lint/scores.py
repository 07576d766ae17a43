"""KP322 and what KP323 can say without a snapshot: scores that are clamped, or equal everywhere.

Owns what is told of them. A rule that says `normalize`, be it `none`, has thought of its range.
Must not know how ranges are found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.cel.catalogue_rows import Time
from kpolicy.policy.lint.bounds import Bounds
from kpolicy.policy.lint.folding import Folding
from kpolicy.policy.lint.written import RuleExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import Priority


def scores(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    bounds = Bounds()
    for rule in policy.rules:
        if isinstance(rule.rule, Priority) and rule.rule.enabled and rule.rule.weight:
            yield from _of(policy, rule, bounds)


def _of(policy: WrittenPolicy, rule: RuleExpression, bounds: Bounds) -> Iterator[Diagnostic]:
    at = rule.expression
    span = at.tree.span
    if at.tree.time <= Time.POD:
        message = "this score reads nothing of the node, so it is the same on all nodes"
        # Legacy files have such priorities on purpose.
        if policy.policy.kind == "SchedulingPolicy":
            yield policy.say(at, "KP323", message, span)
        return
    assert isinstance(rule.rule, Priority)
    folding = Folding()
    folding.fold(at.tree)
    found = bounds.of(at.tree)
    if "normalize" in policy.policy.lost(rule.path):
        return  # it is there, and wrong
    if rule.rule.normalize is not None or found is None or folding.failures or folding.conditions:
        return
    if math.isinf(found.high):
        message = (
            "this score has no upper bound and no `normalize`; every value above 100 is clamped "
            "to 100"
        )
        yield policy.say(at, "KP322", message, span, "`normalize: {method: max}`")
    elif math.isinf(found.low):
        message = (
            "this score has no lower bound and no `normalize`; every value below 0 is clamped to 0"
        )
        yield policy.say(at, "KP322", message, span, "`normalize: {method: minmax}`")
    elif found.high <= 0 or found.low >= 100:
        clamped = 0 if found.high <= 0 else 100
        message = f"every value of this score is clamped to {clamped}: it is between "
        message += f"{found.low:,g} and {found.high:,g}"
        yield policy.say(at, "KP322", message, span, "scores are between 0 and 100")
