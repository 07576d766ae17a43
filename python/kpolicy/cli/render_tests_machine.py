"""Results of tests for programs: JSON and JUnit.

Owns these documents. Assumes results. Must not know how people see them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from kpolicy.cli.findings import Findings
from kpolicy.cli.render_text import concise
from kpolicy.diagnostics import Severity

if TYPE_CHECKING:
    from kpolicy.offline.testing.results import PolicyTestRun, SuiteResult, TestResult

# What XML 1.0 cannot hold, also escaped.
_CONTROL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOCUMENTS: Final = '<testcase classname="kpolicy.test" name="documents">'


def json_document(run: PolicyTestRun) -> str:
    return json.dumps(run.to_json(), indent=2, ensure_ascii=False) + "\n"


def junit(run: PolicyTestRun) -> str:
    """A suite per document, a case per test; what is wrong with a document is an error."""
    cases = sum(len(suite.tests) for suite in run.suites)
    said = [one for one in run.said() if one.severity is Severity.ERROR]
    head = (
        f'<testsuites name="kpolicy test" tests="{cases + bool(said)}" failures="{run.failed}" '
        f'errors="{int(bool(said))}">'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    for suite in run.suites:
        lines += _suite(suite)
    if said:
        told = concise(Findings(tuple(said), {}))
        message = quoteattr(f"{said[0].code}: {said[0].message}")
        lines += [
            '  <testsuite name="documents" tests="1" failures="0" errors="1">',
            f"    {_DOCUMENTS}<error message={message}>{escape(told)}</error></testcase>",
            "  </testsuite>",
        ]
    return _CONTROL.sub("\ufffd", "\n".join([*lines, "</testsuites>"]) + "\n")


def _suite(suite: SuiteResult) -> list[str]:
    failed = sum(1 for test in suite.tests if not test.has_passed)
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
    said = [f"{one.code}: {one.message}" for one in test.diagnostics]
    said += [
        f"{one.what}: expected {one.expected}, got {one.got}"
        + (f" (hint: {one.hint})" if one.hint else "")
        for one in test.mismatches
    ]
    told = "\n".join([*said, *([""] if test.details else []), *test.details])
    return f"<failure message={quoteattr(said[0])}>{escape(told)}</failure>"
