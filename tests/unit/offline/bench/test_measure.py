"""Measuring: what the figures mean."""

from __future__ import annotations

import gc

import pytest

from kpolicy import Size, compile_policy, measure
from kpolicy.engine import Decision
from kpolicy.offline.bench.measure import decision_times, quantile
from tests.unit.offline.worlds import POLICY

KEYS = [
    "workload",
    "nodes",
    "existing",
    "pods",
    "scheduled",
    "seconds",
    "podsPerSecond",
    "p50us",
    "p99us",
]
EVERY_POD = compile_policy(POLICY, every_pod=True).program


@pytest.mark.parametrize(
    ("workload", "scheduled"), [("basic", 300), ("mixed", 300), ("unschedulable", 0)]
)
def test_a_line_says_what_was_done(workload: str, scheduled: int) -> None:
    reports: list[tuple[int, int]] = []
    size = Size(nodes=50, existing=50, pods=300)
    done = measure(workload, size, EVERY_POD, progress=lambda *at: reports.append(at))
    line = done.line()
    assert list(line) == KEYS
    assert [line[key] for key in KEYS[:5]] == [workload, 50, 50, 300, scheduled]
    assert line["podsPerSecond"] == pytest.approx(300 / done.seconds, rel=0.01)
    assert 0 < line["p50us"] <= line["p99us"] <= done.seconds * 1e6
    assert reports == [(256, 300), (300, 300)]
    assert gc.isenabled()


def test_pods_that_do_not_fit_any_more_are_not_scheduled() -> None:
    assert measure("basic", Size(nodes=2, existing=0, pods=300), EVERY_POD).scheduled == 220


def decision(filter_ns: int, score_ns: int) -> Decision:
    return Decision(0, "", "", "", "", "", 0, 0, 0, filter_ns, score_ns, 0, "", [], [], [], [])


def test_all_of_a_calls_time_is_in_some_decision() -> None:
    assert decision_times([decision(10, 20), decision(50, 0)], 100) == [40, 60]
    assert decision_times([decision(10, 20)], 5) == [30]
    assert decision_times([], 5) == []


def test_quantiles_are_values_that_occurred() -> None:
    hundred = list(range(1, 101))
    assert (quantile(hundred, 50), quantile(hundred, 99)) == (50, 99)
    assert (quantile([7], 50), quantile([7], 99)) == (7, 7)
    assert quantile([1, 2, 3], 99) == 3
