"""What running tests gives, as values.

Owns `Mismatch`, `TestResult`, `SuiteResult` and `PolicyTestRun`. Assumes places that are known.
Must not know how a result came about or is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kpolicy.diagnostics import Diagnostic, Place, Span, has_errors
from kpolicy.offline.testing.coverage import PolicyCoverage
from kpolicy.policy.yaml.nodes import Path, Plain
from kpolicy.policy.yaml.source import SourceText


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What would make the expectation hold, for `--update`: a value for what is written at `span`.

    While the document is not known, the path of that."""

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
    # Told, and no failure.
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test. `details` explains a pod that fared otherwise, in lines; `summary` says in a few
    words what became of a replay."""

    __test__ = False  # for pytest

    name: str
    place: Place
    mismatches: tuple[Mismatch, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    details: tuple[str, ...] = ()
    pods: int = 0
    seconds: float = 0.0
    summary: str = ""

    @property
    def has_passed(self) -> bool:
        has_failed = any(not one.is_soft for one in self.mismatches)
        return not has_failed and not has_errors(self.diagnostics)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One document. `diagnostics` are of the document and of its policies."""

    file: str
    name: str
    tests: tuple[TestResult, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    coverage: tuple[PolicyCoverage, ...] = ()


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
        for suite in self.suites:
            for test in suite.tests:
                yield suite, test

    @property
    def passed(self) -> int:
        return sum(1 for _, test in self.tests() if test.has_passed)

    @property
    def failed(self) -> int:
        return sum(1 for _, test in self.tests() if not test.has_passed)

    def said(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of documents and policies, each once."""
        listed = [*self.diagnostics, *(one for suite in self.suites for one in suite.diagnostics)]
        return tuple(dict.fromkeys(listed))

    @property
    def is_fine(self) -> bool:
        """Everything holds, and coverage is as high as it must be."""
        return (
            not self.failed
            and not has_errors(self.said())
            and not any(one.is_below for one in self.coverage)
        )

    def to_json(self) -> dict[str, Any]:
        """What `kpolicy test --output json` prints."""
        from kpolicy.offline.testing.results_json import run_json  # noqa: PLC0415

        return run_json(self)
