"""Points in time as RFC 3339 has them.

Owns which are taken, and nanoseconds since 1970. Pure.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from kpolicy.policy.models.validation import refuse

_FORM: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_FRACTION: Final = re.compile(r"\.(\d+)")
_NANOSECONDS: Final = 1_000_000_000
# Nanoseconds since 1970 in 64 bits reach a little further.
_LAST_YEAR: Final = 2261


def check_instant(text: str) -> str:
    """The text, if it is one."""
    if not _FORM.fullmatch(text):
        refuse("KP113", "a time is written like `2026-11-01T10:00:00Z`")
    try:
        moment = _moment(text)
    except ValueError as error:
        refuse("KP113", f"there is no such time: {error}")
    if not 1970 <= moment.year <= _LAST_YEAR:
        refuse("KP113", f"a time is between 1970 and {_LAST_YEAR}")
    return text


def nanoseconds(text: str) -> int:
    found = _FRACTION.search(text)
    fraction = found.group(1).ljust(9, "0") if found else "0"
    return int(_moment(text).timestamp()) * _NANOSECONDS + int(fraction)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(_FRACTION.sub("", text))
