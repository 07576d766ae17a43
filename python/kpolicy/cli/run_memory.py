"""How the C library hands memory to a scheduler, which lives for months.

Owns two settings of glibc, which other C libraries do not have; what the environment says of them
goes first. Assumes that no other thread has begun. Must not know what the memory is for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Final

# What asyncio reads of a TLS connection at once. Of its own accord glibc takes that from the system
# only until the first is given back; from then on from where small things live, which settle in the
# holes, so that the next is taken from the end of the heap.
_MAPPED_BYTES_MIN: Final = 256 * 1024
# Threads come and go, and each would keep an arena of freed memory.
_ARENAS_MAX: Final = 2
# By the variable that says the same: the parameter of mallopt(3), and its value.
_SETTINGS: Final[Mapping[str, tuple[int, int]]] = {
    "MALLOC_MMAP_THRESHOLD_": (-3, _MAPPED_BYTES_MIN),
    "MALLOC_ARENA_MAX": (-8, _ARENAS_MAX),
}


def settle(environ: Mapping[str, str]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for variable, (parameter, value) in _SETTINGS.items():
        if variable not in environ:
            mallopt(parameter, value)
