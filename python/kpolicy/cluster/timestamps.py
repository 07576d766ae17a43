"""Wall time as the API writes it.

Owns the two forms: `Time` (seconds) and `MicroTime` (always six digits), both UTC. Pure.
"""

from __future__ import annotations

import time
from functools import lru_cache

from kpolicy.clock import NANOSECONDS


@lru_cache(maxsize=4)  # many events share a second
def _seconds(epoch_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch_s))


def api_time(now_ns: int) -> str:
    return f"{_seconds(now_ns // NANOSECONDS)}Z"


def api_micro_time(now_ns: int) -> str:
    seconds, rest_ns = divmod(now_ns, NANOSECONDS)
    return f"{_seconds(seconds)}.{rest_ns // 1000:06d}Z"
