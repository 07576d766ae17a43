"""The README of the chart is made of its values, and each value says what it is for."""

from __future__ import annotations

import yaml

from build.chart_readme import CHART, README, readme, values


def test_it_is_as_the_values_say() -> None:
    assert README.read_text("utf-8") == readme(), "run `make generated`"


def test_every_value_has_a_meaning() -> None:
    found = list(values())
    assert len(found) >= 60
    assert [value.path for value in found if not value.meaning] == []


def test_every_value_of_the_file_is_there() -> None:
    names = {value.path.partition(".")[0] for value in values()}
    assert names == set(yaml.safe_load((CHART / "values.yaml").read_text("utf-8")))
