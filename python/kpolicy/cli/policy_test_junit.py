"""Results of policy tests as JUnit, which CI systems read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from kpolicy.cli.findings_text import Findings, concise

if TYPE_CHECKING:
    from kpolicy.offline.policy_tests.results import PolicyTestRun, SuiteResult, TestResult

# Characters that XML 1.0 cannot hold, not even escaped.
_CONTROL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOCUMENTS: Final = '<testcase classname="kpolicy.test" name="documents">'


def junit(run: PolicyTestRun) -> str:
    """A suite per document, a case per test; what is wrong with a document is an error."""
    cases = sum(len(suite.tests) for suite in run.suites)
    errors = [finding for finding in run.all_diagnostics() if finding.is_error]
    head = (
        f'<testsuites name="kpolicy test" tests="{cases + bool(errors)}" failures="{run.failed}" '
        f'errors="{int(bool(errors))}">'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    for suite in run.suites:
        lines += _junit_suite(suite)
    if errors:
        message = quoteattr(f"{errors[0].code}: {errors[0].message}")
        listed = escape(concise(Findings(tuple(errors), {})))
        lines += [
            '  <testsuite name="documents" tests="1" failures="0" errors="1">',
            f"    {_DOCUMENTS}<error message={message}>{listed}</error></testcase>",
            "  </testsuite>",
        ]
    return _CONTROL.sub("\ufffd", "\n".join([*lines, "</testsuites>"]) + "\n")


def _junit_suite(suite: SuiteResult) -> list[str]:
    failed = sum(not test.has_passed for test in suite.tests)
    seconds = sum(test.seconds for test in suite.tests)
    name = quoteattr(f"{suite.file}: {suite.name}")
    counts = f'tests="{len(suite.tests)}" failures="{failed}" errors="0"'
    return [
        f'  <testsuite name={name} {counts} time="{seconds:.6f}">',
        *(f"    {_case(suite, test)}" for test in suite.tests),
        "  </testsuite>",
    ]


def _case(suite: SuiteResult, test: TestResult) -> str:
    named = f"classname={quoteattr(f'kpolicy.test.{suite.name}')} name={quoteattr(test.name)}"
    where = f'file={quoteattr(test.place.file)} line="{test.place.line}"'
    opened = f'<testcase {named} {where} time="{test.seconds:.6f}">'
    return f"{opened}{_failure(test)}</testcase>"


def _failure(test: TestResult) -> str:
    if test.has_passed:
        return ""
    reasons = [f"{finding.code}: {finding.message}" for finding in test.diagnostics]
    reasons += [
        f"{mismatch.what}: expected {mismatch.expected}, got {mismatch.got}"
        + (f" (hint: {mismatch.hint})" if mismatch.hint else "")
        for mismatch in test.mismatches
    ]
    lines = "\n".join([*reasons, *([""] if test.details else []), *test.details])
    return f"<failure message={quoteattr(reasons[0])}>{escape(lines)}</failure>"
