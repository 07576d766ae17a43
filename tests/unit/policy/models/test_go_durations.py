"""Durations as Go writes them."""

from __future__ import annotations

import pytest

from kpolicy.policy.models.go_durations import seconds_of


@pytest.mark.parametrize(
    ("written", "expected"),
    [("5s", 5.0), ("1m30s", 90.0), ("30000000000ns", 30.0), ("1.5s", 1.5), ("250ms", 0.25)],
)
def test_durations_are_gos(written: str, expected: float) -> None:
    assert seconds_of(written) == pytest.approx(expected)


@pytest.mark.parametrize("written", ["", "5", "-1s", "1d", "5s later"])
def test_anything_else_is_none(written: str) -> None:
    assert seconds_of(written) is None
