"""Results of tests for people and for annotations: text and github.

Owns these layouts. Assumes results. Colour never carries meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from kpolicy.cli.findings_text import Findings, concise, full
from kpolicy.cli.findings_text import github as annotated
from kpolicy.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from kpolicy.offline.policy_tests.coverage import PolicyCoverage
    from kpolicy.offline.policy_tests.results import (
        Mismatch,
        PolicyTestRun,
        SuiteResult,
        TestResult,
    )

_NAME_WIDTH: Final = 62
_RESET: Final = "\x1b[0m"
_RED: Final = "\x1b[1;31m"
_GREEN: Final = "\x1b[32m"


def text(run: PolicyTestRun, *, is_color: bool = False) -> str:
    """All of a run, with the summary in the last line."""
    said = full(Findings(run.said(), run.texts), is_color=is_color)
    lines: list[str] = []
    file = ""
    for suite in run.suites:
        if suite.file != file:
            lines += [""] * bool(lines) + [suite.file]
            file = suite.file
        lines += _suite(suite, run, is_color=is_color)
    # What is not covered says nothing where tests were left out.
    for one in () if run.left_out else run.coverage:
        lines += ["", *_coverage(one)]
    lines += _cross_checked(run)
    shown = "\n".join([*lines, "", summary(run), ""])
    return said + re.sub("\n{3,}", "\n\n", shown)


def _cross_checked(run: PolicyTestRun) -> Iterator[str]:
    checked = run.cross_checked
    if checked is None:
        return
    count = len(checked.known)
    known = "1 known difference" if count == 1 else f"{count:,} known differences"
    yield ""
    yield f"cross-check  {checked.compared:,} evaluations compared with cel-python, {known}"
    yield from (f"  {sentence}" for sentence in checked.known)


def summary(run: PolicyTestRun) -> str:
    parts = [f"{run.failed} failed"] if run.failed else []
    parts.append(f"{run.passed} passed")
    if run.left_out:
        parts.append(f"{run.left_out} not run")
    line = ", ".join(parts)
    below = [one for one in run.coverage if one.is_below]
    if below:
        line += "; coverage below threshold"
    errors = sum(1 for one in run.said() if one.severity is Severity.ERROR)
    if errors:
        line += f"; {errors} {'error' if errors == 1 else 'errors'} in tests or policies"
    return line


def _suite(suite: SuiteResult, run: PolicyTestRun, *, is_color: bool) -> Iterator[str]:
    for test in suite.tests:
        word = "ok" if test.has_passed else "FAIL"
        shown = f"{word:<4}"
        if is_color:
            shown = f"{_GREEN if test.has_passed else _RED}{shown}{_RESET}"
        duration = f"{test.seconds * 1000:,.1f} ms"
        pods, said = (f"{test.pods:,} pods  ", f"  {test.summary}") if test.summary else ("", "")
        yield f"  {shown}  {test.name:<{_NAME_WIDTH}}  {pods}{duration:>9}{said}"
        yield from _why(test, run)


def _why(test: TestResult, run: PolicyTestRun) -> Iterator[str]:
    indent = " " * 8
    for line in full(Findings(test.diagnostics, run.texts), is_color=False).splitlines():
        yield f"{indent}{line}".rstrip()
    for mismatch in test.mismatches:
        yield from (f"{indent}{line}" for line in _difference(mismatch))
    if test.details:
        yield ""
        yield from (f"{indent}| {line}".rstrip() for line in test.details)
        yield ""


def _difference(one: Mismatch) -> Iterator[str]:
    expected = f"{'wished' if one.is_soft else 'expected'} {one.what}"
    yield f"{expected}  {one.expected}"
    yield f"{'got':<{len(expected)}}  {one.got}"
    if one.hint:
        yield f"{'':<{len(expected)}}  hint: {one.hint}"


def _coverage(one: PolicyCoverage) -> Iterator[str]:
    below = f"  below {one.minimum:g} %" if one.is_below else ""
    yield (
        f"coverage  {one.file}  {one.rules_seen}/{one.rules} rules, "
        f"{one.branches_seen}/{one.branches} branches ({one.percentage:.1f} %){below}"
    )
    rows = [
        (f"{item.place.file}:{item.place.line}:{item.place.column}", item.label, item.told())
        for item in one.uncovered()
    ]
    widths = [max((len(row[index]) for row in rows), default=0) for index in (0, 1)]
    for where, label, told in rows:
        yield f"  {where:<{widths[0]}}  {label:<{widths[1]}}  {told}"


def github(run: PolicyTestRun) -> str:
    """An annotation for every failure, finding, and part that no test has seen."""
    said: list[Diagnostic] = [*run.said()]
    for _, test in run.tests():
        said += test.diagnostics
        said += [
            Diagnostic(
                "test",
                Severity.WARNING if one.is_soft else Severity.ERROR,
                f"{test.name}: expected {one.what} {one.expected}, got {one.got}",
                place=one.place or test.place,
            )
            for one in test.mismatches
        ]
    for one in () if run.left_out else run.coverage:
        said += one.diagnostics()
    return annotated(Findings(tuple(said), {}))


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
        lines += _junit_suite(suite)
    if said:
        told = concise(Findings(tuple(said), {}))
        message = quoteattr(f"{said[0].code}: {said[0].message}")
        lines += [
            '  <testsuite name="documents" tests="1" failures="0" errors="1">',
            f"    {_DOCUMENTS}<error message={message}>{escape(told)}</error></testcase>",
            "  </testsuite>",
        ]
    return _CONTROL.sub("\ufffd", "\n".join([*lines, "</testsuites>"]) + "\n")


def _junit_suite(suite: SuiteResult) -> list[str]:
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


# Formats for programs, by name.
DOCUMENTS: Final = {"json": json_document, "junit": junit, "github": github}
