"""Which pods the extenders of a shadow policy would be asked about, for they are not.

Owns that, and what is told of it. Pure. An extender may count what it is asked, and would see every
pod twice; so a shadow goes by its rules alone, and where an extender could have made a difference
there is no comparison. Must not know engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.assembly.program import Program
from kpolicy.scheduler.problem import SHADOW_ASKS_NOBODY

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
