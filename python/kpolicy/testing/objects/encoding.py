"""JSON and times as the API server writes them.

pydantic's core reads and writes JSON three times faster than the standard library.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from pydantic_core import from_json, to_json

Json = dict[str, Any] | list[Any] | str | int | float | bool | None


def encode(value: object) -> bytes:
    return to_json(value)


def decode(text: bytes) -> Json | ValueError:
    """Return the value, or what is wrong with the text (nesting too deep is wrong)."""
    try:
        value: Json = from_json(text, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        return error
    return value


NANOSECONDS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S
YEAR_DAYS = 365


def timestamp(time_ns: int) -> str:
    """`metav1.Time`: whole seconds, UTC."""
    return _of_second(time_ns // NANOSECONDS)


def seconds_since(text: str | None, now_ns: int) -> float | None:
    """Return how long ago a `Time` or `MicroTime` was; None if the text is neither."""
    if not text:
        return None
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return now_ns / NANOSECONDS - (then - _EPOCH).total_seconds()


def age(text: str | None, now_ns: int) -> str:
    seconds = seconds_since(text, now_ns)
    return "<unknown>" if seconds is None else duration(seconds)


def duration(seconds: float) -> str:
    """Return a duration as kubectl shortens it: at most two units, the second only if it
    matters."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    minutes, hours, days = whole // MINUTE_S, whole // HOUR_S, whole // DAY_S
    if whole < 2 * MINUTE_S:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % MINUTE_S, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 8 * 24:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * YEAR_DAYS:
        return f"{days}d"
    if days < 8 * YEAR_DAYS:
        return _two(days // YEAR_DAYS, "y", days % YEAR_DAYS, "d")
    return f"{days // YEAR_DAYS}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


@lru_cache(maxsize=64)
def _of_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
