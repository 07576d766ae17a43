"""Comments that silence findings."""

from __future__ import annotations

from kpolicy.policy.compile import compile_policy
from tests.unit.policy.policies import codes_and_places, policy

LABELS = "metadata:\n  name: a\n  labels:\n    country: no"


def codes(text: str) -> list[str]:
    return [code for code, _ in codes_and_places(compile_policy(text).diagnostics)]


def text(labels: str) -> str:
    return policy("").replace("metadata: {name: p}", labels)


def test_a_comment_concerns_its_line_or_the_next() -> None:
    assert codes(text(LABELS)) == ["KP106"]
    assert codes(text(LABELS + "  # kpolicy: ignore[KP106] meant")) == []
    above = LABELS.replace("    country", "    # kpolicy: ignore[KP106]\n    country")
    assert codes(text(above)) == []


def test_a_comment_names_codes_and_says_so_when_one_is_not_there() -> None:
    assert codes(text(LABELS + "  # kpolicy: ignore[KP106, KP301]")) == ["KP190"]
    assert codes(text(LABELS + "  # kpolicy: ignore[KP301]")) == ["KP106", "KP190"]


def test_an_error_cannot_be_silenced() -> None:
    found = codes(policy("shadow: 3  # kpolicy: ignore[KP113]"))
    assert found == ["KP113", "KP190"]
