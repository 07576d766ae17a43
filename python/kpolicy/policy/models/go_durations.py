"""Durations as Go writes them, such as `1m30s`."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import StringConstraints

Duration = Annotated[str, StringConstraints(pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$")]

_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(duration: str) -> float | None:
    """None where it is no duration."""
    parts = _PART.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
