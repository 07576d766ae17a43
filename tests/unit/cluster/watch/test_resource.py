"""Resource versions compare as integers if they are integers, and never go back."""

from __future__ import annotations

import pytest

from kpolicy.cluster.watch.resource import is_older, newer_of


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("18446744073709551614", "18446744073709551615", True),
        ("", "10", False),
        ("10", "", False),
        ("abc", "abd", False),
        ("١", "2", False),
        ("9" * 5000, "1", False),
    ],
)
def test_older_only_when_that_is_certain(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older


@pytest.mark.parametrize(
    ("seen", "reported", "kept"),
    [("5", "6", "6"), ("6", "5", "6"), ("6", "", "6"), ("", "5", "5"), ("x", "y", "y")],
)
def test_what_is_resumed_from_never_goes_back(seen: str, reported: str, kept: str) -> None:
    assert newer_of(seen, reported) == kept
