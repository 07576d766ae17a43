"""Memory of a large buffer goes back to the system, every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Five buffers, one after the other; how many were the system's, asked while each was held.
SCRIPT = """
import ctypes, json, os
from kpolicy.cli import run_memory

class Figures(ctypes.Structure):  # mallinfo2(3)
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Figures
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
run_memory.settle(os.environ)
before, mapped = libc.mallinfo2().hblks, []
for _ in range(5):
    buffer = libc.malloc(ctypes.c_size_t(300 * 1024))
    mapped.append(libc.mallinfo2().hblks - before)
    libc.free(buffer)
print(json.dumps(mapped))
"""


def mapped(**environment: str) -> list[int]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**given, **environment}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert isinstance(told, list)
    return told


def test_every_large_buffer_is_the_systems() -> None:
    assert mapped() == [1] * 5


@pytest.mark.parametrize(("bytes_min", "expected"), [("524288", [0] * 5), ("131072", [1] * 5)])
def test_what_the_environment_says_goes_first(bytes_min: str, expected: list[int]) -> None:
    assert mapped(MALLOC_MMAP_THRESHOLD_=bytes_min) == expected
