"""For pytest: `*.test.yaml` files as tests, and a fixture that loads policies.

    # conftest.py
    pytest_plugins = ["kpolicy.testing.pytest_plugin"]

The fixture `policy` finds files beside the test module. Needs pytest, and is imported by nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kpolicy.offline.policy_tests.results import PolicyTestRun, TestResult
from kpolicy.offline.policy_tests.session import (
    run_tests,
)
from kpolicy.offline.policy_tests.suites import TEST_SUFFIXES
from kpolicy.testing.policy_under_test import PolicyUnderTest, load_policy


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> Callable[..., PolicyUnderTest]:
    """`policy("gpu.yaml")` loads a file beside the test module, or a shipped policy by name."""
    folder = request.path.parent

    def load(
        *names: str, profile: str = "", params: Mapping[str, Any] | None = None
    ) -> PolicyUnderTest:
        __tracebackhide__ = True
        found = [folder / name if (folder / name).exists() else name for name in names]
        return load_policy(*found, profile=profile, params=params)

    return load


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    if file_path.name.endswith(TEST_SUFFIXES):
        return PolicyTestFile.from_parent(parent, path=file_path)
    return None


class PolicyTestFile(pytest.File):
    """A file of tests: one item for each test, and one for problems of the whole file."""

    def collect(self) -> Iterable[pytest.Item]:
        run = run_tests(self.path)
        if run.all_diagnostics() or not list(run.tests()):
            yield _Verdict.from_parent(self, name="document", failure=_whole_file(run))
        for _, result in run.tests():
            line, failure = result.place.line - 1, None if result.has_passed else _one_test(result)
            yield _Verdict.from_parent(self, name=result.name, failure=failure, line=line)
        if any(covered.minimum is not None for covered in run.coverage):
            yield _Verdict.from_parent(self, name="coverage", failure=_coverage(run) or None)


class _Failed(Exception):  # noqa: N818  it is a verdict
    """Raised when a test fails; pytest shows its text without a traceback."""


class _Verdict(pytest.Item):
    """The outcome of something that has run already; it failed if there is a `failure`."""

    def __init__(self, *, failure: str | None, line: int | None = None, **rest: Any) -> None:
        super().__init__(**rest)
        self._failure = failure
        self._line = line

    def runtest(self) -> None:
        if self._failure is not None:
            raise _Failed(self._failure)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        if isinstance(excinfo.value, _Failed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self._line, self.name


def _one_test(result: TestResult) -> str:
    lines = [f"{found.code}: {found.message}" for found in result.diagnostics]
    for mismatch in result.mismatches:
        expected = f"expected {mismatch.what}"
        lines.append(f"{expected}  {mismatch.expected}")
        lines.append(f"{'got':<{len(expected)}}  {mismatch.got}")
    return "\n".join([*lines, "", *result.details]).rstrip()


def _whole_file(run: PolicyTestRun) -> str:
    findings = [
        f"{place}: {found.code} {found.message}"
        for found in run.all_diagnostics()
        if (place := found.place) is not None
    ]
    return "\n".join(findings) or "there is no test in this file"


def _coverage(run: PolicyTestRun) -> str:
    lines = []
    for covered in run.coverage:
        if covered.is_below:
            share = f"{covered.percentage:.1f} % covered, below {covered.minimum:g} %"
            lines.append(f"{covered.file}: {share}")
            lines += [
                f"  {item.place.line}:{item.place.column} {item.label}: {item.problem()}"
                for item in covered.uncovered()
            ]
    return "\n".join(lines)
