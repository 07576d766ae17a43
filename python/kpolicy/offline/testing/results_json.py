"""Results as plain data: what `kpolicy test --output json` prints.

Owns the keys. Must not know anything else of results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kpolicy.diagnostics import Diagnostic, Place

if TYPE_CHECKING:
    from kpolicy.offline.testing.coverage import PolicyCoverage
    from kpolicy.offline.testing.results import Mismatch, PolicyTestRun, SuiteResult, TestResult

_Json = dict[str, Any]


def run_json(run: PolicyTestRun) -> _Json:
    return {
        "passed": run.passed,
        "failed": run.failed,
        "leftOut": run.left_out,
        "fine": run.is_fine,
        "findings": [_diagnostic(one) for one in run.said()],
        "suites": [_suite(one) for one in run.suites],
        "coverage": [_coverage(one) for one in run.coverage],
    }


def _suite(suite: SuiteResult) -> _Json:
    tests = [_test(one) for one in suite.tests]
    return {"file": suite.file, "name": suite.name, "tests": tests}


def _test(test: TestResult) -> _Json:
    return {
        "name": test.name,
        "passed": test.has_passed,
        **_place(test.place),
        "seconds": round(test.seconds, 6),
        "pods": test.pods,
        **({"summary": test.summary} if test.summary else {}),
        "mismatches": [_mismatch(one) for one in test.mismatches],
        "findings": [_diagnostic(one) for one in test.diagnostics],
    }


def _mismatch(one: Mismatch) -> _Json:
    told: _Json = {"what": one.what, "expected": one.expected, "got": one.got, "hint": one.hint}
    if one.is_soft:
        told["soft"] = True
    return {**told, **(_place(one.place) if one.place is not None else {})}


def _diagnostic(one: Diagnostic) -> _Json:
    told = {"code": one.code, "level": one.severity.value, "message": one.message, "hint": one.hint}
    return {**told, **(_place(one.place) if one.place is not None else {})}


def _coverage(one: PolicyCoverage) -> _Json:
    return {
        "file": one.file,
        "rules": one.rules,
        "rulesSeen": one.rules_seen,
        "branches": one.branches,
        "branchesSeen": one.branches_seen,
        "percentage": round(one.percentage, 2),
        "minimum": one.minimum,
        "uncovered": [
            {**_place(item.place), "label": item.label, "missing": list(item.missing)}
            for item in one.uncovered()
        ],
    }


def _place(place: Place) -> _Json:
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
