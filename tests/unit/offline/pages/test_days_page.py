"""The page of simulated days: a point of each line for each sample."""

from __future__ import annotations

from kpolicy.offline.pages.days_page import days_page
from tests.browser.sample_pages import read
from tests.unit.offline.pages.page_reading import chart, rows


def test_lines_have_the_figures_of_the_samples() -> None:
    days = read("days")
    samples = days["samples"]
    series = chart(days_page(days), "Allocation")["option"]["series"]
    assert [line["name"] for line in series] == ["cpu", "memory", "pending pods"]
    cpu = [value for _, value in series[0]["data"]]
    assert cpu == [each["resources"]["cpu"]["allocation"] for each in samples]
    # 2026-06-01T00:00:00Z
    assert series[0]["data"][0][0] == 1780272000000
    assert series[2]["yAxisIndex"] == 1


def test_a_time_without_a_wait_is_a_gap() -> None:
    days = read("days")
    series = chart(days_page(days), "Time until a pod has a node")["option"]["series"]
    assert series[0]["data"][0][1] is None
    assert [row[0] for row in rows(days_page(days), "Waits")] == list(
        days["summary"]["waitSeconds"]
    )
