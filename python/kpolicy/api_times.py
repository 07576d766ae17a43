"""Times in nanoseconds since the epoch, and as the API writes them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

NANOSECONDS: Final = 1_000_000_000


def time_of(text: str) -> int:
    """Nanoseconds since the epoch, of a time as the API writes it. `ValueError` if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("write 2026-11-01T22:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError("it has no zone; write 2026-11-01T22:00:00Z")
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * NANOSECONDS + since.microseconds * 1_000


@lru_cache(maxsize=64)  # many events and objects share a second
def _seconds(epoch_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch_s))


def api_time(now_ns: int) -> str:
    """As the API writes a `metav1.Time`: RFC 3339 in UTC, whole seconds."""
    return f"{_seconds(now_ns // NANOSECONDS)}Z"


def whole_minute(now_ns: int) -> int:
    """The beginning of the minute, which is the time that rules see."""
    return now_ns - now_ns % (60 * NANOSECONDS)


def api_micro_time(now_ns: int) -> str:
    """As the API writes a `metav1.MicroTime`."""
    seconds, rest_ns = divmod(now_ns, NANOSECONDS)
    return f"{_seconds(seconds)}.{rest_ns // 1000:06d}Z"
