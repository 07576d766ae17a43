"""What `explain`, `diff` and `plan` of a whole cluster cost: the processor time of whole commands
on a snapshot of 5,000 nodes and 20,000 pods, beside that of `simulate`.

Pods of `basic` are equal but for the app they belong to; those of `mixed` differ in what they
request, so that hardly any two share an answer.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

from kpolicy.offline.bench.generated_cluster import Size, as_list
from kpolicy.offline.reports.columns import columns

SIZE: Final = Size(nodes=5_000, existing=19_250, pods=750)
WORKLOADS: Final = ("basic", "mixed")
# What the design allows each command, printed beside what it took.
ALLOWED_S: Final = 5.0
_OLD, _NEW = "kube-scheduler-default", "bin-packing"
COMMANDS: Final = {
    "simulate": ("simulate",),
    "explain": ("explain",),
    "explain -o json": ("explain", "-o", "json"),
    "diff": ("diff", _OLD, _NEW),
    "diff --all-pods": ("diff", _OLD, _NEW, "--all-pods"),
    "plan": ("plan", _OLD, _NEW),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a command's processor time and on the clock, and what it printed."""

    command: str
    workload: str
    processor_s: float
    clock_s: float
    output_bytes: int

    def line(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "workload": self.workload,
            "processorSeconds": round(self.processor_s, 2),
            "seconds": round(self.clock_s, 2),
            "outputBytes": self.output_bytes,
            "allowedSeconds": ALLOWED_S,
        }


def measure(size: Size = SIZE) -> list[Cost]:
    found = []
    with TemporaryDirectory() as folder:
        for workload in WORKLOADS:
            snapshot = Path(folder, f"{workload}.json")
            with snapshot.open("wb") as file:
                file.writelines(as_list(workload, size))
            for command, words in COMMANDS.items():
                with Path(folder, "printed").open("wb") as out:
                    arguments = (*words, "--every-pod", "--snapshot", str(snapshot))
                    processor_s, clock_s = _process(arguments, out)
                    found.append(Cost(command, workload, processor_s, clock_s, out.tell()))
    return found


def _process(arguments: Sequence[str], out: IO[bytes]) -> tuple[float, float]:
    """A new process; a diff that finds differences ends with 1."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-m", "kpolicy", *arguments]
    done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, check=False)
    clock_s = time.perf_counter() - began
    assert done.returncode in {0, 1}, done.stderr.decode()
    out.seek(0, 2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock_s


def table(costs: Sequence[Cost]) -> list[str]:
    rows = [["command", "workload", "processor time", "clock", "printed"]]
    for cost in costs:
        times = (f"{cost.processor_s:.1f} s", f"{cost.clock_s:.1f} s")
        rows.append([cost.command, cost.workload, *times, f"{cost.output_bytes / 1e6:,.1f} MB"])
    size = f"{SIZE.nodes:,} nodes, {SIZE.existing:,} pods on them, {SIZE.pods:,} pending"
    return [size, *columns(rows, right=(2, 3, 4)), f"allowed: {ALLOWED_S:.0f} s of processor time"]
