"""The names that a test may use: rules of a profile, with what a program says of each.

Owns looking them up. Assumes a program. Must not know tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kpolicy.policy.assembly.program import Program


@dataclass(frozen=True, slots=True)
class RuleNames:
    """`filters` by name with the reason of each, `scores` with the weight."""

    filters: Mapping[str, str]
    scores: Mapping[str, int]
    audits: frozenset[str]

    def reason(self, rule: str) -> str:
        """A built-in has no reason of its own but its name."""
        return self.filters.get(rule, "")

    def weight(self, rule: str) -> int:
        return self.scores.get(rule, 0)


def rule_names(program: Program) -> dict[str, RuleNames]:
    """By profile."""
    document = json.loads(program.bytes)
    return {
        profile["schedulerName"]: RuleNames(
            {one["name"]: one.get("reason", one["name"]) for one in profile["filters"]},
            {one["name"]: one["weight"] for one in profile["scores"]},
            frozenset(
                one["name"] for one in profile["filters"] if one.get("enforcement") == "audit"
            ),
        )
        for profile in document["profiles"]
    }
