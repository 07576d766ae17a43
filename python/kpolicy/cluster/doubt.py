"""Writes that were sent and whose end is not known: how long one may still be written.

Owns that one judgement. Pure: time is an argument. Must not know what was written.

Facts: the API server honours `?timeout=` of every request that is not a watch (its request
deadline, counted from when it read the head); a deadline that has passed cancels what it asked of
etcd, which may already be on its way. That we closed the connection cancels it too, once it hears.
Neither says when a request arrives that lies in a proxy or in the buffer of a process that stands
still: hence the long limit where nothing was answered.
"""

from __future__ import annotations

from typing import Final

from kpolicy.clock import NANOSECONDS
from kpolicy.cluster.failure import Failure, Status
from kpolicy.cluster.limits import (
    ANSWERED_IN_DOUBT_S,
    SERVER_TIMEOUT_SHARE,
    UNANSWERED_IN_DOUBT_S,
)

_TOO_MANY: Final = 429
_UNAVAILABLE: Final = 503


def server_timeout(timeout_s: float) -> str:
    """What to ask the API server to give up after, as the value of `timeout`."""
    return f"{timeout_s * SERVER_TIMEOUT_SHARE:g}s"


def in_doubt_until_ns(failure: Failure, now_ns: int) -> int:
    """Until when a write may still be made that came back with this; 0: it is not made."""
    seconds = UNANSWERED_IN_DOUBT_S
    if isinstance(failure, Status):
        # Refused, or told to come again: it was not begun.
        is_put_off = failure.code == _UNAVAILABLE and failure.retry_after_s is not None
        if not failure.transient or failure.code == _TOO_MANY or is_put_off:
            return 0
        if failure.reason:  # the API server's own words, not those of a proxy before it
            seconds = ANSWERED_IN_DOUBT_S
    elif not failure.sent:
        return 0
    return now_ns + int(seconds * NANOSECONDS)
