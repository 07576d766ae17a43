"""The results of policy tests as values, their JSON, and the edits of `--update`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import Any

from kpolicy.diagnostics import Diagnostic, Place, Span, has_errors
from kpolicy.offline.policy_tests.coverage import PolicyCoverage, merged
from kpolicy.policy.format.yaml_text import flow
from kpolicy.policy.yaml.nodes import Path, Plain
from kpolicy.policy.yaml.source import SourceText
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The edit that makes an expectation true, for `--update`: a new value for the text at `span`.
    Before the document is known, it has the path."""

    path: Path
    value: Plain
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One expectation that does not hold. `what` is its field, as in `filters.n2.message`."""

    what: str
    expected: str
    got: str
    hint: str = ""
    place: Place | None = None
    rewrite: Rewrite | None = None
    # A soft mismatch is reported and is no failure.
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class CrossChecked:
    """How many evaluations were compared with cel-python, and the known differences found."""

    compared: int = 0
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test. `details` explains a pod with an unexpected decision, in lines; `summary` describes
    the result of a replay in a few words."""

    __test__ = False  # for pytest

    name: str
    place: Place
    mismatches: tuple[Mismatch, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    details: tuple[str, ...] = ()
    pods: int = 0
    seconds: float = 0.0
    summary: str = ""
    cross_checked: CrossChecked | None = None

    @property
    def has_passed(self) -> bool:
        is_failed = any(not mismatch.is_soft for mismatch in self.mismatches)
        return not is_failed and not has_errors(self.diagnostics)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One document. `diagnostics` are of the document and of its policies."""

    file: str
    name: str
    tests: tuple[TestResult, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    coverage: tuple[PolicyCoverage, ...] = ()

    @property
    def has_failed(self) -> bool:
        return not all(test.has_passed for test in self.tests)

    def joined(self, other: SuiteResult) -> SuiteResult:
        """With the tests of another share of the same document."""
        return replace(
            self,
            tests=(*self.tests, *other.tests),
            diagnostics=tuple(dict.fromkeys((*self.diagnostics, *other.diagnostics))),
            coverage=merged((*self.coverage, *other.coverage)),
        )


@dataclass(frozen=True, slots=True)
class PolicyTestRun:
    """All documents. `texts` are those that places of diagnostics are in."""

    suites: tuple[SuiteResult, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    coverage: tuple[PolicyCoverage, ...] = ()
    texts: dict[str, SourceText] = field(default_factory=dict)
    # Tests that did not run; coverage then says less than it might.
    left_out: int = 0

    def tests(self) -> Iterator[tuple[SuiteResult, TestResult]]:
        return ((suite, test) for suite in self.suites for test in suite.tests)

    @property
    def passed(self) -> int:
        return sum(test.has_passed for _, test in self.tests())

    @property
    def failed(self) -> int:
        return sum(not test.has_passed for _, test in self.tests())

    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of documents and policies, each once."""
        of_suites = (finding for suite in self.suites for finding in suite.diagnostics)
        return tuple(dict.fromkeys((*self.diagnostics, *of_suites)))

    @property
    def cross_checked(self) -> CrossChecked | None:
        """The sum of all tests; None if no test was cross-checked."""
        found = [
            checked.cross_checked
            for _, checked in self.tests()
            if checked.cross_checked is not None
        ]
        if not found:
            return None
        known = dict.fromkeys(sentence for checked in found for sentence in checked.known)
        return CrossChecked(sum(checked.compared for checked in found), tuple(known))

    @property
    def is_fine(self) -> bool:
        """Everything holds, and coverage is as high as it must be."""
        return (
            not self.failed
            and not has_errors(self.all_diagnostics())
            and not any(policy.is_below for policy in self.coverage)
        )

    def to_json(self) -> dict[str, Any]:
        """The JSON of `kpolicy test --output json`."""
        return {
            "passed": self.passed,
            "failed": self.failed,
            "leftOut": self.left_out,
            "fine": self.is_fine,
            "findings": [_finding(finding) for finding in self.all_diagnostics()],
            "suites": [
                {
                    "file": suite.file,
                    "name": suite.name,
                    "tests": [_test(test) for test in suite.tests],
                }
                for suite in self.suites
            ],
            "coverage": [_coverage(policy) for policy in self.coverage],
            **_cross_checked(self.cross_checked),
        }


_Json = dict[str, Any]


def _cross_checked(checked: CrossChecked | None) -> _Json:
    if checked is None:
        return {}
    return {"crossCheck": {"compared": checked.compared, "known": list(checked.known)}}


def _test(test: TestResult) -> _Json:
    return {
        "name": test.name,
        "passed": test.has_passed,
        **test.place.document(),
        "seconds": round(test.seconds, 6),
        "pods": test.pods,
        **({"summary": test.summary} if test.summary else {}),
        "mismatches": [_mismatch(mismatch) for mismatch in test.mismatches],
        "findings": [_finding(finding) for finding in test.diagnostics],
    }


def _mismatch(mismatch: Mismatch) -> _Json:
    return {
        "what": mismatch.what,
        "expected": mismatch.expected,
        "got": mismatch.got,
        "hint": mismatch.hint,
        **({"soft": True} if mismatch.is_soft else {}),
        **_place(mismatch.place),
    }


def _finding(finding: Diagnostic) -> _Json:
    return {
        "code": finding.code,
        "level": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        **_place(finding.place),
    }


def _coverage(policy: PolicyCoverage) -> _Json:
    return {
        "file": policy.file,
        "rules": policy.rules,
        "rulesSeen": policy.rules_seen,
        "branches": policy.branches,
        "branchesSeen": policy.branches_seen,
        "percentage": round(policy.percentage, 2),
        "minimum": policy.minimum,
        "uncovered": [
            {**item.place.document(), "label": item.label, "missing": list(item.missing)}
            for item in policy.uncovered()
        ],
    }


def _place(place: Place | None) -> _Json:
    return {} if place is None else place.document()


def rewrites(suites: Iterable[SuiteResult]) -> dict[str, list[Rewrite]]:
    """The edits that `--update` can make, by file."""
    found: dict[str, list[Rewrite]] = {}
    for suite in suites:
        for edit in (mismatch.rewrite for test in suite.tests for mismatch in test.mismatches):
            if edit is not None and edit.span is not None:
                found.setdefault(suite.file, []).append(edit)
    return found


def updated(text: str, edits: Iterable[Rewrite]) -> tuple[str, int]:
    """The text after these edits, and their number. An edit inside another one is not made.
    Comments and layout stay."""
    spans = [(edit.span, edit.value) for edit in edits if edit.span is not None]
    written = 0
    begin = len(text) + 1
    for span, value in sorted(spans, key=lambda item: (-item[0].end, item[0].start)):
        if span.end > begin:
            continue
        end = span.start + len(text[span.start : span.end].rstrip())
        text = text[: span.start] + flow(value) + text[end:]
        begin = span.start
        written += 1
    return text, written
