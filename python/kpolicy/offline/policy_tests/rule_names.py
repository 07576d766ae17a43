"""The names that a test may use: rules of a profile, with what a program says of each.

Owns looking them up. Assumes a program. Must not know tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.policy_tests.document_model import Expectation, Rejection, Test
from kpolicy.offline.policy_tests.suites import Suite, steps_of
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path


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


def unknown_names(suite: Suite, index: int, test: Test, rules: RuleNames) -> Iterator[Diagnostic]:
    """Each name that is no rule of the profile, where it stands."""
    for at, step in steps_of(test):
        path: Path = ("tests", index, *at, "expect")
        yield from _filters(suite, path, step.expect, rules)
        yield from _scores(suite, path, step.expect, rules)
        every = {*rules.filters, *rules.scores}
        for number, error in enumerate(step.expect.errors or ()):
            here = (*path, "errors", number, "rule")
            yield from _unknown(suite, here, error.rule, every, "rule")
        for number, name in enumerate(step.expect.audited or ()):
            here = (*path, "audited", number)
            yield from _unknown(suite, here, name, rules.audits, "audited predicate")


def _filters(
    suite: Suite, path: Path, expect: Expectation, rules: RuleNames
) -> Iterator[Diagnostic]:
    for node, wanted in expect.filters.items():
        if not isinstance(wanted, Rejection) or wanted.rejected_by is None:
            continue
        here = (*path, "filters", node, "rejectedBy")
        listed = wanted.rejected_by
        if isinstance(listed, str):
            yield from _unknown(suite, here, listed, rules.filters, "predicate")
            continue
        for number, name in enumerate(listed):
            yield from _unknown(suite, (*here, number), name, rules.filters, "predicate")


def _scores(
    suite: Suite, path: Path, expect: Expectation, rules: RuleNames
) -> Iterator[Diagnostic]:
    for node, wanted in expect.scores.items():
        here = (*path, "scores", node)
        fields = ("total", "raw", "weighted")
        for name in wanted.model_extra or {}:
            known = (*rules.scores, *fields)
            yield from _unknown(suite, (*here, name), name, known, "priority", at_key=True)
        for kind, numbers in (("raw", wanted.raw), ("weighted", wanted.weighted)):
            for name in numbers:
                yield from _unknown(
                    suite, (*here, kind, name), name, rules.scores, "priority", at_key=True
                )


def _unknown(
    suite: Suite, path: Path, name: str, known: Iterable[str], what: str, *, at_key: bool = False
) -> Iterator[Diagnostic]:
    if name not in known:
        message = f"the profile has no {what} `{name}`"
        hint = did_you_mean(name, known)
        yield suite.remark("KP501", message, path, hint=hint, at_key=at_key)
