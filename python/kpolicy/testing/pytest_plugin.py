"""For pytest: `*.test.yaml` files as tests, and a fixture that loads policies.

    # conftest.py
    pytest_plugins = ["kpolicy.testing.pytest_plugin"]

Owns how a `PolicyTest` shows in pytest, and `policy`, which finds files beside the test module.
Needs pytest, and is imported by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kpolicy.offline.policy_tests.results import PolicyTestRun, TestResult
from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.offline.policy_tests.suite_inputs import TEST_SUFFIXES
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
        if run.said() or not list(run.tests()):
            yield _WholeFile.from_parent(self, name="document", run=run)
        for _, result in run.tests():
            yield _OneTest.from_parent(self, name=result.name, result=result)
        if any(covered.minimum is not None for covered in run.coverage):
            yield _Coverage.from_parent(self, name="coverage", run=run)


class _Failed(Exception):  # noqa: N818  it is a verdict
    """Raised when a test fails; pytest shows its text without a traceback."""


class _Reported(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        if isinstance(excinfo.value, _Failed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class _OneTest(_Reported):
    def __init__(self, *, result: TestResult, **rest: Any) -> None:
        super().__init__(**rest)
        self._result = result

    def runtest(self) -> None:
        if self._result.has_passed:
            return
        lines = [f"{found.code}: {found.message}" for found in self._result.diagnostics]
        for mismatch in self._result.mismatches:
            expected = f"expected {mismatch.what}"
            lines += [
                f"{expected}  {mismatch.expected}",
                f"{'got':<{len(expected)}}  {mismatch.got}",
            ]
        raise _Failed("\n".join([*lines, "", *self._result.details]).rstrip())

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self._result.place.line - 1, self.name


class _WholeFile(_Reported):
    def __init__(self, *, run: PolicyTestRun, **rest: Any) -> None:
        super().__init__(**rest)
        self._run = run

    def runtest(self) -> None:
        findings = [
            f"{place.file}:{place.line}:{place.column}: {found.code} {found.message}"
            for found in self._run.said()
            if (place := found.place) is not None
        ]
        raise _Failed("\n".join(findings) or "there is no test in this file")


class _Coverage(_Reported):
    def __init__(self, *, run: PolicyTestRun, **rest: Any) -> None:
        super().__init__(**rest)
        self._run = run

    def runtest(self) -> None:
        below = [covered for covered in self._run.coverage if covered.is_below]
        lines = []
        for covered in below:
            lines.append(
                f"{covered.file}: {covered.percentage:.1f} % covered, below {covered.minimum:g} %"
            )
            lines += [
                f"  {item.place.line}:{item.place.column} {item.label}: {item.problem()}"
                for item in covered.uncovered()
            ]
        if lines:
            raise _Failed("\n".join(lines))
