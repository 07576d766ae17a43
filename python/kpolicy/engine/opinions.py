"""Second opinions of the engine about the decisions of another, and what they say."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from kpolicy.engine.named_answers import Verdict

# Decisions that are compared. The others have no result.
ACTED_ON: Final = frozenset({Verdict.PLACED, Verdict.PARKED})


class Result(StrEnum):
    """`different_node` is used only if the node in the decision is not among the best nodes of the
    second opinion."""

    SAME = "same"
    DIFFERENT_NODE = "different_node"
    WOULD_REJECT = "would_reject"
    WOULD_PLACE = "would_place"
    FAILED = "failed"  # a rule of the other policy failed
    NOT_JUDGED = "not_judged"  # the other policy does not serve it
    EXTENDERS_NOT_ASKED = "extenders_not_asked"  # their answers could change it


# By their numbers, those that the engine gives: it knows no extenders.
RESULTS: Final = tuple(result for result in Result if result is not Result.EXTENDERS_NOT_ASKED)
# Results that are differences, of a decision that both policies made.
DIFFERENT: Final = frozenset(
    {Result.DIFFERENT_NODE, Result.WOULD_REJECT, Result.WOULD_PLACE, Result.FAILED}
)


class Opinion(NamedTuple):
    """The decision of this engine about a pod that another engine decided. `node` is the other's
    node if that is among the best. `accepts`: the other's node passes every filter. `result`
    compares the two."""

    verdict: int
    uid: str
    node: str
    accepts: bool
    result: Result
