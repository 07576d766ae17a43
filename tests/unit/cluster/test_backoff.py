"""Waits grow, stay within their bounds, and start over after a healthy stretch."""

from __future__ import annotations

import pytest

from kpolicy.clock import NANOSECONDS
from kpolicy.cluster.backoff import Backoff

ALMOST_ONE = 1 - 1e-12


def waits(chance: float, count: int, apart_s: int = 1) -> list[float]:
    backoff, out = Backoff(), []
    for number in range(count):
        wait = backoff.failed(number * apart_s * NANOSECONDS, chance)
        backoff = wait.backoff
        out.append(wait.seconds)
    return out


def test_the_ceiling_doubles_from_the_first_step_to_the_cap() -> None:
    assert waits(ALMOST_ONE, 8) == pytest.approx([1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30])


def test_the_floor_is_the_first_wait_at_every_step() -> None:
    assert waits(0.0, 6) == [0.8] * 6


def test_two_minutes_without_a_failure_start_it_over() -> None:
    assert waits(ALMOST_ONE, 4, apart_s=120) == pytest.approx([1.6] * 4)
    assert waits(ALMOST_ONE, 4, apart_s=119) == pytest.approx([1.6, 3.2, 6.4, 12.8])


def test_retry_after_is_the_least_and_is_spread_as_well() -> None:
    assert Backoff().failed(0, 0.0, at_least_s=5).seconds == 5
    assert 5 < Backoff().failed(0, 0.5, at_least_s=5).seconds < 5.8
    assert Backoff(step=6).failed(0, 0.5, at_least_s=1).seconds == pytest.approx(15.4)


def test_ten_thousand_failures_overflow_nothing() -> None:
    assert Backoff(step=10_000).ceiling_s() == 30
