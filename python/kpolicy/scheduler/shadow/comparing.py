"""How the shadow policy's decision differs from the one that was made.

A shadow's extenders are never asked, since they may count their requests; pods that they could
decide are counted apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.engine import Decision, Opinion, Verdict
from kpolicy.policy.assembly.program import Program
from kpolicy.scheduler.problem_codes import SHADOW_ASKS_NOBODY

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


_HINT: Final = (
    "decisions that they could change are counted as extenders_not_asked; "
    "leave them out of the shadow policy to compare its rules alone"
)


@dataclass(frozen=True, slots=True)
class Unasked:
    """`by_profile`: of each extender that filters or scores, the resources that it manages; with
    none, it is asked about every pod."""

    by_profile: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> Unasked:
        by_profile = {}
        for profile in program.profiles:
            managed = tuple(
                frozenset(resource.name for resource in extender.managed_resources)
                for extender in profile.extenders
                if extender.filter_verb or extender.prioritize_verb
            )
            if managed:
                by_profile[profile.scheduler_name] = managed
        return cls(by_profile)

    @property
    def managed(self) -> list[str]:
        """Resources that decide who is asked."""
        every = (names for own in self.by_profile.values() for names in own)
        return sorted(frozenset[str]().union(*every))

    def concern(self, profile: str, requested: frozenset[str]) -> bool:
        """Whether one of them would be asked about a pod that requests these of `managed`."""
        own = self.by_profile.get(profile, ())
        return any(not names or bool(names & requested) for names in own)

    def remarks(self) -> tuple[Diagnostic, ...]:
        if not self.by_profile:
            return ()
        served = ", ".join(sorted(self.by_profile))
        message = f"extenders of the shadow policy are not asked (profiles: {served})"
        return (Diagnostic(SHADOW_ASKS_NOBODY, Severity.WARNING, message, _HINT),)
