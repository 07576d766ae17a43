"""Results of policy tests as text, and as JSON and annotations of GitHub.

Colour never carries meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kpolicy.cli.findings_text import (
    COLORS,
    GREEN,
    Findings,
    Paint,
    full,
    github as annotated,
    printable,
)
from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.offline.reports.columns import columns
from kpolicy.version import DOCUMENT_VERSION

if TYPE_CHECKING:
    from kpolicy.offline.policy_tests.coverage import PolicyCoverage
    from kpolicy.offline.policy_tests.results import (
        Mismatch,
        PolicyTestRun,
        TestResult,
    )

_NAME_WIDTH: Final = 62


def text(run: PolicyTestRun, *, is_color: bool = False) -> str:
    """All of a run, with the summary in the last line."""
    findings = full(Findings(run.all_diagnostics(), run.texts), is_color=is_color)
    lines: list[str] = []
    file = ""
    for suite in run.suites:
        if suite.file != file:
            lines += [*([""] if lines else []), suite.file]
            file = suite.file
        for test in suite.tests:
            lines += _test(test, run, is_color=is_color)
    for policy in _coverage_shown(run):
        lines += ["", *_coverage(policy)]
    lines += _cross_checked(run)
    shown = "\n".join([*lines, "", summary(run), ""])
    return findings + re.sub("\n{3,}", "\n\n", shown)


def _coverage_shown(run: PolicyTestRun) -> tuple[PolicyCoverage, ...]:
    """None if tests were left out, because they would cover more."""
    return () if run.left_out else run.coverage


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
    counts = ((run.failed, "failed"), (run.passed, "passed"), (run.left_out, "not run"))
    line = ", ".join(f"{count} {what}" for count, what in counts if count or what == "passed")
    if any(policy.is_below for policy in run.coverage):
        line += "; coverage below threshold"
    errors = len(_errors(run))
    if errors:
        line += f"; {errors} {'error' if errors == 1 else 'errors'} in tests or policies"
    return line


def _errors(run: PolicyTestRun) -> list[Diagnostic]:
    return [finding for finding in run.all_diagnostics() if finding.severity is Severity.ERROR]


def _test(test: TestResult, run: PolicyTestRun, *, is_color: bool) -> Iterator[str]:
    word, color = ("ok  ", GREEN) if test.has_passed else ("FAIL", COLORS[Severity.ERROR])
    duration = f"{test.seconds * 1000:,.1f} ms"
    pods, after = (f"{test.pods:,} pods  ", f"  {test.summary}") if test.summary else ("", "")
    shown = Paint(is_color)(word, color)
    yield f"  {shown}  {printable(test.name):<{_NAME_WIDTH}}  {pods}{duration:>9}{after}"
    lines = full(Findings(test.diagnostics, run.texts)).splitlines()
    for mismatch in test.mismatches:
        lines += _mismatch(mismatch)
    yield from (f"{' ' * 8}{printable(line)}".rstrip() for line in lines)
    if test.details:
        yield from ("", *(f"{' ' * 8}| {printable(line)}".rstrip() for line in test.details), "")


def _mismatch(mismatch: Mismatch) -> Iterator[str]:
    expected = f"{'wished' if mismatch.is_soft else 'expected'} {mismatch.what}"
    yield f"{expected}  {mismatch.expected}"
    yield f"{'got':<{len(expected)}}  {mismatch.got}"
    if mismatch.hint:
        yield f"{'':<{len(expected)}}  hint: {mismatch.hint}"


def _coverage(policy: PolicyCoverage) -> list[str]:
    below = f"  below {policy.minimum:g} %" if policy.is_below else ""
    head = (
        f"coverage  {policy.file}  {policy.rules_seen}/{policy.rules} rules, "
        f"{policy.branches_seen}/{policy.branches} branches ({policy.percentage:.1f} %){below}"
    )
    rows = [(str(item.place), item.label, item.problem()) for item in policy.uncovered()]
    return [head, *columns(rows, indent="  ")]


def github(run: PolicyTestRun) -> str:
    """An annotation for every failure, finding, and part that no test has seen."""
    findings: list[Diagnostic] = [*run.all_diagnostics()]
    for _, test in run.tests():
        findings += test.diagnostics
        findings += [
            Diagnostic(
                "test",
                Severity.WARNING if mismatch.is_soft else Severity.ERROR,
                f"{test.name}: expected {mismatch.what} {mismatch.expected}, got {mismatch.got}",
                place=mismatch.place or test.place,
            )
            for mismatch in test.mismatches
        ]
    for policy in _coverage_shown(run):
        findings += policy.diagnostics()
    return annotated(Findings(tuple(findings), {}))


def json_document(run: PolicyTestRun) -> str:
    document = {"version": DOCUMENT_VERSION, "kind": "test", **run.to_json()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def json_lines(run: PolicyTestRun) -> str:
    """A line for each test, then a line with everything else."""
    document = run.to_json()
    lines = [
        {"file": suite["file"], "suite": suite["name"], **test}
        for suite in document.pop("suites")
        for test in suite["tests"]
    ]
    return "".join(
        json.dumps(line, ensure_ascii=False) + "\n" for line in [*lines, {"summary": document}]
    )


# Formats for programs, by name.
DOCUMENTS: Final = {"json": json_document, "jsonl": json_lines, "github": github}
