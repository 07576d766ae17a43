"""Memory of a large buffer goes back to the system, every time, and threads share theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

SETTLED = """
import ctypes, json, os
from kpolicy.cli.verbs.run import tune_allocator

libc = ctypes.CDLL(None)
tune_allocator(os.environ)
"""
# Five buffers, one after the other; how many were the system's, asked while each was held. Small
# ones take the holes that importing has left: a buffer that fits into one is not the system's.
BUFFERS = """
class Figures(ctypes.Structure):  # mallinfo2(3)
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]

libc.mallinfo2.restype = Figures
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
small = [libc.malloc(ctypes.c_size_t(100 * 1024)) for _ in range(200)]
before, mapped = libc.mallinfo2().hblks, []
for _ in range(5):
    buffer = libc.malloc(ctypes.c_size_t(300 * 1024))
    mapped.append(libc.mallinfo2().hblks - before)
    libc.free(buffer)
print(json.dumps(mapped))
"""


# Threads that ask for memory while all of them live; malloc_info(3) names each arena.
ARENAS = """
import tempfile, threading
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
asked, over = threading.Barrier(9), threading.Event()

def ask():
    memory = libc.malloc(ctypes.c_size_t(100))
    asked.wait()
    over.wait()
    libc.free(memory)

threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
asked.wait()
with tempfile.NamedTemporaryFile() as file:
    libc.fopen.restype = ctypes.c_void_p
    stream = libc.fopen(file.name.encode(), b"w")
    libc.malloc_info(0, ctypes.c_void_p(stream))
    libc.fclose(ctypes.c_void_p(stream))
    print(json.dumps(file.read().decode().count("<heap nr=")))
over.set()
"""


def output_of(script: str, environment: dict[str, str]) -> Any:
    """What a process says that has settled, and is given no more than this of malloc."""
    malloc = ("MALLOC_", "GLIBC_TUNABLES")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(malloc)}
    done = subprocess.run(
        [sys.executable, "-c", SETTLED + script],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_every_large_buffer_is_the_systems() -> None:
    assert output_of(BUFFERS, {}) == [1] * 5


def test_threads_share_two_arenas() -> None:
    assert output_of(ARENAS, {}) == 2


@pytest.mark.parametrize(
    ("script", "environment", "expected"),
    [
        (BUFFERS, {"MALLOC_MMAP_THRESHOLD_": "524288"}, [0] * 5),
        (BUFFERS, {"MALLOC_MMAP_THRESHOLD_": "131072"}, [1] * 5),
        (BUFFERS, {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=524288"}, [0] * 5),
        (ARENAS, {"MALLOC_ARENA_MAX": "4"}, 4),
        (ARENAS, {"GLIBC_TUNABLES": "a.b=1:glibc.malloc.arena_max=4"}, 4),
        (ARENAS, {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=524288"}, 2),
    ],
)
def test_what_the_environment_says_goes_first(
    script: str, environment: dict[str, str], expected: object
) -> None:
    assert output_of(script, environment) == expected
