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
    EXTENDERS_NOT_ASKED = "extenders_not_asked"  # what they would have said could change it


# Of these the log says nothing.
QUIET: Final = frozenset({Result.SAME, Result.NOT_JUDGED, Result.EXTENDERS_NOT_ASKED})
# Extenders take nodes away and never add any: what is rejected without them stays so.
_CERTAIN: Final = frozenset({Result.FAILED, Result.NOT_JUDGED, Result.WOULD_REJECT})


def without_extenders(decision: Decision, opinion: Opinion) -> Result:
    """Of a pod that extenders of the shadow policy would have been asked about."""
    result = compared(decision, opinion)
    is_rejected = result is Result.SAME and opinion.verdict == Verdict.PARKED
    return result if result in _CERTAIN or is_rejected else Result.EXTENDERS_NOT_ASKED


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
