"""Did you mean: the nearest of the names that exist.

Owns the measure. Assumes short lists. Must not know what the names stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_NAME_CHARACTERS_MAX: Final = 64
_SIMILARITY_MIN: Final = 0.7


def nearest(name: str, known: Iterable[str]) -> str:
    """The best match, or an empty string when nothing is near."""
    if len(name) > _NAME_CHARACTERS_MAX:
        return ""
    by_folded = {one.lower(): one for one in sorted(known)}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=_SIMILARITY_MIN)
    return by_folded[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint `did you mean `x`?`, or an empty string."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else ""
