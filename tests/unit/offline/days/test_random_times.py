"""Arrivals and lifetimes have the rates and distributions that are written."""

from __future__ import annotations

from random import Random
from statistics import fmean, median
from typing import Any

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.offline.days.random_times import lifetime, times
from kpolicy.offline.days.scenario_model import Arrivals, LifetimeForm

HOUR = 3_600 * NANOSECONDS


def arrivals(**fields: Any) -> Arrivals:
    return Arrivals.model_validate({"pods": "p", "perHour": 100, **fields})


def test_pods_come_at_the_rate_of_each_hour() -> None:
    hours = [0.0] * 12 + [2.0] * 12
    found = list(times(arrivals(hours=hours), 0, 48 * HOUR, Random(1)))
    assert found == sorted(found)
    assert {at // HOUR % 24 for at in found} == set(range(12, 24))
    assert len(found) == pytest.approx(24 * 200, rel=0.05)


def test_a_higher_rate_moves_the_times_and_nothing_else() -> None:
    slow = list(times(arrivals(), 0, 10 * HOUR, Random(1)))
    fast = list(times(arrivals(perHour=200), 0, 10 * HOUR, Random(1)))
    assert [at // 2 for at in slow] == pytest.approx(fast[: len(slow)], rel=1e-9)


def test_even_arrivals_are_equally_far_apart() -> None:
    even = arrivals(perHour=4, process="even", **{"from": "1h", "until": "2h"})
    found = [at / HOUR for at in times(even, 0, 10 * HOUR, Random(1))]
    assert found == pytest.approx([1.25, 1.5, 1.75])


@pytest.mark.parametrize(
    ("form", "statistic", "hours"),
    [
        ({"exponential": "2h"}, fmean, 2.0),
        ({"uniform": ["1h", "3h"]}, fmean, 2.0),
        ({"lognormal": ["1h", "8h"]}, median, 1.0),
    ],
)
def test_lifetimes(form: dict[str, Any], statistic: Any, hours: float) -> None:
    model, random = LifetimeForm.model_validate(form), Random(1)
    drawn = [(lifetime(model, random) or 0) / HOUR for _ in range(20_000)]
    assert statistic(drawn) == pytest.approx(hours, rel=0.05)
    if "lognormal" in form:
        assert sorted(drawn)[18_000] == pytest.approx(8.0, rel=0.1)


def test_a_lifetime_may_be_fixed_or_have_no_end() -> None:
    assert lifetime("90m", Random(1)) == 1.5 * HOUR
    assert lifetime(None, Random(1)) is None
