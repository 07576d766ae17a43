"""Durations as scenarios and traces write them: `90s`, `2h30m`, `7d`, or a number of seconds."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from kpolicy.api_times import NANOSECONDS

_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d|w)", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_SECONDS: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", re.ASCII)
_UNITS: Final = {
    "w": 604_800 * NANOSECONDS,
    "d": 86_400 * NANOSECONDS,
    "h": 3_600 * NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "s": NANOSECONDS,
    "ms": NANOSECONDS // 1_000,
}


@lru_cache(maxsize=256)  # each pod of a kind has the text of its kind
def read_duration(text: str) -> int | None:
    """In nanoseconds; None if it is none."""
    if _WHOLE.fullmatch(text) is None:
        return None
    return sum(round(float(number) * _UNITS[unit]) for number, unit in _PART.findall(text))


def read_seconds(text: str) -> int | None:
    """In nanoseconds: a duration, or a number of seconds. None if it is neither."""
    if _SECONDS.fullmatch(text):
        return round(float(text) * NANOSECONDS)
    return read_duration(text)


def duration_text(nanoseconds: int) -> str:
    """In the two largest units that it has, such as `2h30m`."""
    left, parts = nanoseconds, []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"
