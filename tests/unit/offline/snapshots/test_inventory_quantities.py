"""Quantities as exact numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kpolicy.offline.snapshots.inventory import quantity


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("500m", Fraction(1, 2)),
        ("1", 1),
        (2, 2),
        (0.5, Fraction(1, 2)),
        ("1.5Gi", 3 * 2**29),
        ("1Ki", 1024),
        ("3k", 3000),
        ("2e3", 2000),
        ("1E", 10**18),
        ("1E2", 100),
        ("5E-1", Fraction(1, 2)),
        ("7n", Fraction(7, 10**9)),
        (".5", Fraction(1, 2)),
        ("-1", -1),
        ("", 0),
        ("many", 0),
        ("1e9999", 0),
        (None, 0),
    ],
)
def test_every_form_is_read(written: str, value: Fraction) -> None:
    assert quantity(written) == value
