"""Two settings of glibc's memory allocator, for a process that lives for months.

The environment has precedence. Other C libraries do not have these settings. Call `settle` before
any thread starts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Final, NamedTuple

# What asyncio reads of a TLS connection at once. Of its own accord glibc takes that from the system
# only until the first is given back; from then on from where small things live, which settle in the
# holes, so that the next is taken from the end of the heap.
_MAPPED_BYTES_MIN: Final = 256 * 1024
# Threads come and go, and each would keep an arena of freed memory.
_ARENAS_MAX: Final = 2


class _Setting(NamedTuple):
    parameter: int  # of mallopt(3)
    value: int
    variable: str  # which says the same
    tunable: str  # and so does this, in GLIBC_TUNABLES


_SETTINGS: Final = (
    _Setting(-3, _MAPPED_BYTES_MIN, "MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold"),
    _Setting(-8, _ARENAS_MAX, "MALLOC_ARENA_MAX", "glibc.malloc.arena_max"),
)


def settle(environ: Mapping[str, str]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    tunables = environ.get("GLIBC_TUNABLES", "").split(":")
    tuned = {tunable.partition("=")[0] for tunable in tunables}
    for one in _SETTINGS:
        if one.variable not in environ and one.tunable not in tuned:
            mallopt(one.parameter, one.value)
