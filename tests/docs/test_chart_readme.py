"""The README of the chart is made of its values, and each value says what it is for."""

from __future__ import annotations

import yaml

from build.chart_readme import CHART, README, readme, values
from tests.tree.sources import ROOT


def test_it_is_as_the_values_say() -> None:
    assert README.read_text("utf-8") == readme(), "run `make generated`"


def test_every_value_has_a_meaning() -> None:
    found = list(values())
    assert len(found) >= 60
    assert [value.path for value in found if not value.meaning] == []


def test_every_value_of_the_file_is_there() -> None:
    names = {value.path.partition(".")[0] for value in values()}
    assert names == set(yaml.safe_load((CHART / "values.yaml").read_text("utf-8")))


def test_the_table_of_sizes_is_the_one_that_was_measured() -> None:
    text = (CHART / "values.yaml").read_text("utf-8")
    table = [line[1:].split() for line in text.splitlines() if line.startswith("#   ")]
    rows = [row for row in table if row[:1] == ["nodes"] or row[0].replace(",", "").isdigit()]
    measured = (ROOT / "docs/internals/benchmarks.md").read_text("utf-8")
    section = measured.partition("## What a replica needs")[2].partition("```text")[2]
    assert len(rows) == 7
    assert rows == [line.split() for line in section.splitlines()[1:8]]
