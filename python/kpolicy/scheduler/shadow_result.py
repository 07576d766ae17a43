"""In what a second opinion differs from a decision.

Owns the results and when each applies. Pure. Must not know where either came from.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from kpolicy.engine import Decision, Opinion, Verdict

# Decisions that have consequences; of others there is nothing to compare.
ACTED_ON: Final = frozenset({Verdict.PLACED, Verdict.PARKED})


class Result(StrEnum):
    """`different_node` only where the node acted on is not among the shadow's best."""

    SAME = "same"
    DIFFERENT_NODE = "different_node"
    WOULD_REJECT = "would_reject"
    WOULD_PLACE = "would_place"
    FAILED = "failed"  # a rule of the shadow policy failed
    NOT_JUDGED = "not_judged"  # the shadow policy does not serve it


def compared(decision: Decision, opinion: Opinion) -> Result:
    if opinion.verdict == Verdict.FAILED:
        return Result.FAILED
    if opinion.verdict not in ACTED_ON:
        return Result.NOT_JUDGED
    if decision.verdict == Verdict.PARKED:
        return Result.WOULD_PLACE if opinion.verdict == Verdict.PLACED else Result.SAME
    if opinion.verdict == Verdict.PARKED or not opinion.accepts:
        return Result.WOULD_REJECT
    return Result.SAME if opinion.node == decision.node else Result.DIFFERENT_NODE
