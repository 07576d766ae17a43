"""Hints for misspelt names: the most similar of the names that exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from kpolicy.diagnostics import Hint

_NAME_CHARACTERS_MAX: Final = 64
_SIMILARITY_MIN: Final = 0.7


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar name, or an empty string if none is similar."""
    if len(name) > _NAME_CHARACTERS_MAX:
        return ""
    by_folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=_SIMILARITY_MIN)
    return by_folded[found[0]] if found else ""


def is_slip(written: str, meant: str) -> bool:
    """Whether it is a typing error: at most two letters are wrong, and most are right."""
    return _distance(written, meant) <= min(2, len(meant) // 3)


def _distance(a: str, b: str) -> int:
    """The number of letters that are added, left out, changed, or swapped with the next one."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def suggestion(name: str, known: Iterable[str]) -> Hint | None:
    """The hint that offers the nearest name as a replacement; None when nothing is near."""
    found = nearest(name, known)
    return Hint(f"did you mean `{found}`?", replacement=found) if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The text of that hint, or an empty string."""
    return (suggestion(name, known) or Hint("")).text
