"""What a second opinion of the engine says about a decision of another."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol

from kpolicy.engine.named_answers import Opinion, Verdict

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


class Decided(Protocol):
    @property
    def verdict(self) -> int: ...

    @property
    def node(self) -> str: ...


def compared(decision: Decided, opinion: Opinion) -> Result:
    if opinion.verdict == Verdict.FAILED:
        return Result.FAILED
    if opinion.verdict not in ACTED_ON:
        return Result.NOT_JUDGED
    if decision.verdict == Verdict.PARKED:
        return Result.WOULD_PLACE if opinion.verdict == Verdict.PLACED else Result.SAME
    if opinion.verdict == Verdict.PARKED or not opinion.accepts:
        return Result.WOULD_REJECT
    return Result.SAME if opinion.node == decision.node else Result.DIFFERENT_NODE
