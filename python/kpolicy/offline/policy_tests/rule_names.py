"""The rules of a profile, and the names in a test that are no rule of it (KP501)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.policy_tests.document_model import Expectation, Rejection, Test
from kpolicy.offline.policy_tests.suites import Suite, steps_of
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path

_SCORE_FIELDS: Final = ("total", "raw", "weighted")


@dataclass(frozen=True, slots=True)
class RuleNames:
    """`filters` by name with the reason of each, `scores` with the weight."""

    filters: Mapping[str, str]
    scores: Mapping[str, int]
    audits: frozenset[str]

    def reason(self, rule: str) -> str:
        """The reason of a built-in is its name."""
        return self.filters.get(rule, "")

    def weight(self, rule: str) -> int:
        return self.scores.get(rule, 0)


def rule_names(program: Program) -> dict[str, RuleNames]:
    """By profile."""
    document = json.loads(program.bytes)
    return {
        profile["schedulerName"]: RuleNames(
            {rule["name"]: rule.get("reason", rule["name"]) for rule in profile["filters"]},
            {rule["name"]: rule["weight"] for rule in profile["scores"]},
            frozenset(
                rule["name"] for rule in profile["filters"] if rule.get("enforcement") == "audit"
            ),
        )
        for profile in document["profiles"]
    }


def unknown_names(suite: Suite, index: int, test: Test, rules: RuleNames) -> Iterator[Diagnostic]:
    """Reports each name that is no rule of the profile."""
    for at, step in steps_of(test):
        path: Path = ("tests", index, *at, "expect")
        for field, name, what, known in _names(step.expect, rules):
            if name not in known:
                message = f"the profile has no {what} `{name}`"
                hint = did_you_mean(name, known)
                is_key = what == "priority"
                yield suite.remark("KP501", message, (*path, *field), hint=hint, at_key=is_key)


def _names(
    expect: Expectation, rules: RuleNames
) -> Iterator[tuple[Path, str, str, Collection[str]]]:
    """Names of rules, with their paths, what they name, and the names that exist."""
    for node, rejection in expect.filters.items():
        by = rejection.rejected_by if isinstance(rejection, Rejection) else None
        here: Path = ("filters", node, "rejectedBy")
        if isinstance(by, str):
            yield here, by, "predicate", rules.filters
        for number, name in enumerate(by if isinstance(by, list) else ()):
            yield (*here, number), name, "predicate", rules.filters
    for node, scores in expect.scores.items():
        for name in scores.model_extra or {}:
            yield ("scores", node, name), name, "priority", (*rules.scores, *_SCORE_FIELDS)
        for kind, numbers in (("raw", scores.raw), ("weighted", scores.weighted)):
            for name in numbers:
                yield ("scores", node, kind, name), name, "priority", rules.scores
    for number, error in enumerate(expect.errors or ()):
        yield ("errors", number, "rule"), error.rule, "rule", {*rules.filters, *rules.scores}
    for number, name in enumerate(expect.audited or ()):
        yield ("audited", number), name, "audited predicate", rules.audits
