"""What a test names, against what there is: rules and profiles.

Owns the KP501 of names. Assumes a program. Must not know how a test fared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.testing.documents import Suite, steps_of
from kpolicy.offline.testing.model import Expectation, Rejection, Test
from kpolicy.offline.testing.rules import RuleNames
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path


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
