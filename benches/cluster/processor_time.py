"""Reads from /proc (Linux) how much processor time a process has used. All its threads count, and
children that have ended.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat after the name: utime, stime, cutime, cstime (proc(5), fields 14 to 17).
_TIMES: Final = slice(11, 15)


def used_s(pid: int) -> float:
    """Processor time, in steps of 10 ms. Raises OSError if there is no such process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[_TIMES])) / _TICKS_PER_SECOND


def resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"process {pid} has ended")
