"""The share of useless wakes does not rise. It depends on nothing but the engine."""

from __future__ import annotations

import pytest

from benches import wakes
from kpolicy.offline.bench.generated_cluster import Size

SIZE = Size(nodes=6, existing=120, pods=600)
CHANGES = 100


@pytest.mark.parametrize(
    ("workload", "useful", "useless"),
    [("basic", 60, 0), ("affinity", 52, 2795), ("antiaffinity", 335, 4700), ("volumes", 240, 1800)],
)
def test_useless_wakes_of_a_workload(workload: str, useful: int, useless: int) -> None:
    row = wakes.measure_one(workload, SIZE, CHANGES)
    assert row.wakes - row.useless >= useful, "fewer parked pods were placed"
    assert row.useless <= useless, "more parked pods were woken in vain"


def test_the_table_ends_with_the_sum() -> None:
    rows = [wakes.Woken("a", 3, 10, 5), wakes.Woken("b", 1, 30, 15)]
    assert wakes.table(rows)[-1].split() == ["all", "4", "40", "20", "50.0%"]
