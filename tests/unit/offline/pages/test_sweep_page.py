"""The page of a sweep: each policy by each figure, with its unit and its spread."""

from __future__ import annotations

from kpolicy.offline.pages.sweep_page import sweep_page
from tests.browser.sample_pages import read
from tests.unit.offline.pages.page_reading import chart, rows


def test_shades_compare_the_policies_by_one_figure() -> None:
    found = chart(sweep_page(read("sweep")), "Policies by figures")
    names = found["option"]["xAxis"]["data"]
    column = names.index("cpu imbalance")
    cells = [cell for cell in found["option"]["series"][0]["data"] if cell["value"][0] == column]
    assert [(cell["shown"], cell["fill"]) for cell in cells] == [("7.4%", 0.0), ("32.0%", 1.0)]
    assert cells[0]["cell"] == "7.4% ± 0.2%, from 7.1% to 7.5%"


def test_a_figure_that_differs_has_bars_and_each_cell_a_row() -> None:
    sweep = read("sweep")
    sweep["variants"][0]["values"] = {"nodes": "8"}
    page = sweep_page(sweep)
    bars = chart(page, "wait p90 seconds")["option"]
    assert bars["xAxis"]["unit"] == "seconds"
    assert bars["yAxis"]["data"] == ["kube-scheduler-default, nodes=8", "bin-packing"]
    assert len(rows(page, "Each policy with each seed")) == 6
