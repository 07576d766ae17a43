"""The benchmark of two threads of the engine against one."""

from __future__ import annotations

import pytest

from benches import __main__ as driver, threads
from kpolicy.offline.bench.generated_cluster import Size


def test_every_number_of_threads_is_timed_and_two_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "COLD", Size(20, 20, 10))
    [compared] = threads.measure(["unique-labels"], runs=1)
    assert compared.what == "unique-labels, 20 nodes"
    assert set(compared.by_threads) == {1, 2}
    times = [*compared.by_threads.values(), compared.at_once]
    assert all(time.clock > 0 and time.ran > 0 for time in times)


def test_the_table_has_ratios_and_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    by_threads = {1: threads.Time(3.0, 2.0), 2: threads.Time(2.0, 1.0)}
    found = [threads.Compared("basic", by_threads, threads.Time(4.0, 2.0))]
    monkeypatch.setattr(threads, "measure", lambda _: found)
    assert driver.main(["threads"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    of_clock, of_ran = ["3.000", "2.000", "1.50", "1.50"], ["2.000", "1.000", "2.00", "2.00"]
    assert ["basic", *of_clock, *of_ran] in lines
