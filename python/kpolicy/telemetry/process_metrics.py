"""Numbers of this process, by the names Prometheus clients share.

Owns the reading of /proc. Assumes Linux; elsewhere what cannot be read is left out.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from kpolicy.telemetry.metrics import Computed, Description, Labels, Registry

_STAT_START_TICKS = 19  # the 22nd field of /proc/self/stat, counted after the name in brackets


def register(registry: Registry) -> None:
    start = _start_time()
    registry.register(
        _computed("process_cpu_seconds_total", "counter", "CPU time spent.", _cpu),
        _computed("process_resident_memory_bytes", "gauge", "Resident memory.", _resident),
        _computed("process_open_fds", "gauge", "Open file descriptors.", _open_files),
        _computed("process_max_fds", "gauge", "File descriptors allowed.", _files_max),
        _computed(
            "python_allocated_blocks",
            "gauge",
            "Blocks of memory that Python's objects take; of all sizes, small ones most.",
            _blocks,
        ),
        _computed("process_start_time_seconds", "gauge", "Since the epoch.", lambda: {(): start}),
    )


def _computed(name: str, kind: str, text: str, read: object) -> Computed:
    assert callable(read)
    return Computed(Description(name, kind, text), read)


def _cpu() -> dict[Labels, float]:
    times = os.times()
    return {(): times.user + times.system}


def _resident() -> dict[Labels, float]:
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return {}
    return {(): pages * os.sysconf("SC_PAGE_SIZE")}


def _blocks() -> dict[Labels, float]:
    """Counted by pool, which takes a fraction of a millisecond; to count objects would take ten."""
    return {(): sys.getallocatedblocks()}


def _open_files() -> dict[Labels, float]:
    try:
        return {(): len(os.listdir("/proc/self/fd"))}  # noqa: PTH208  names are not needed
    except OSError:
        return {}


def _files_max() -> dict[Labels, float]:
    return {(): resource.getrlimit(resource.RLIMIT_NOFILE)[0]}


def _start_time() -> float:
    try:
        stat = Path("/proc/self/stat").read_text("ascii").rsplit(")", 1)[1].split()
        boot = next(
            line.split()[1]
            for line in Path("/proc/stat").read_text("ascii").splitlines()
            if line.startswith("btime ")
        )
        return int(boot) + int(stat[_STAT_START_TICKS]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return time.time()
