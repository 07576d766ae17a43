"""Amounts as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kpolicy.offline.reports.columns import amount, bytes_of, percent


@pytest.mark.parametrize(
    ("resource", "value", "written"),
    [
        ("cpu", Fraction(4), "4"),
        ("cpu", Fraction(12345, 10), "1,234.5"),
        ("memory", Fraction(2**30), "1Gi"),
        ("memory", Fraction(3 * 2**29), "1.5Gi"),
        ("memory", Fraction(1000), "1,000"),
        ("ephemeral-storage", Fraction(400 * 2**30), "400Gi"),
        ("hugepages-2Mi", Fraction(2**21), "2Mi"),
        ("example.com/gpu", Fraction(8), "8"),
        ("pods", Fraction(11000), "11,000"),
    ],
)
def test_units_follow_the_resource(resource: str, value: Fraction, written: str) -> None:
    assert amount(resource, value) == written


def test_sizes_keep_three_digits_at_most() -> None:
    assert [bytes_of(n) for n in (0, 1023, 2**20 + 2**19, 999 * 2**30 + 2**29, 2**70)] == [
        "0",
        "1,023",
        "1.5Mi",
        "1,000Gi",
        "1,024Ei",
    ]
    assert percent(0.12345) == "12.3%"
