"""A test that fails shows what each kpolicy of it was doing."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.e2e.scheduler_process import SchedulerProcess


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and report.failed:
        for process in SchedulerProcess.started:
            report.sections.append(
                (f"kpolicy run at {process.address}", process.seen_after_failure())
            )
    return report
