"""The benchmark of decisions about pods that all differ."""

from __future__ import annotations

import pytest

from benches import __main__ as driver, cold
from kpolicy.offline.bench.workloads import UNIQUE

SIZES = (20, 40)


def test_every_unique_workload_is_measured_at_every_size_beside_the_loop() -> None:
    costs = cold.measure(nodes=SIZES, pods=5, runs=1)
    assert [cost.workload for cost in costs.each] == [cold.EQUAL, *UNIQUE]
    assert all(set(cost.by_nodes) == set(SIZES) for cost in costs.each)
    assert all(min(cost.by_nodes.values()) > 0 for cost in costs.each)
    assert costs.loop_ms > 0


def test_the_table_has_costs_growth_and_calibration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = cold.Cost("unique-labels", {5_000: 40.0, 50_000: 500.0})
    monkeypatch.setattr(cold, "measure", lambda _: cold.Costs((cost,), 70.0))
    assert driver.main(["cold"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["unique-labels", "40.0", "500.0", "12.5"] in lines
    assert lines[3][0] == "calibration:"
