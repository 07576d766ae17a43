"""Reads the memory of a scheduler at rest, from the kernel and from its metrics, and computes how
it grows. Also lists the metrics that must be zero at rest, when all pods are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression, mean
from typing import Any, Final

from benches.cluster.processor_time import resident_mib
from tests.e2e.scheduler_process import SchedulerProcess

# (name here, metric, labels): work that is under way or waits.
_AT_REST: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    ("pods waiting", "scheduler_pending_pods", {}),
    ("pods held", "scheduler_cache_size", {"type": "pods"}),
    ("pods assumed", "scheduler_cache_size", {"type": "assumed_pods"}),
    ("reservations", "kpolicy_reservations_open", {}),
    ("binds in flight", "kpolicy_binds_in_flight", {}),
    ("waits for volumes", "kpolicy_pods_awaiting_volumes", {}),
    ("preemptions", "kpolicy_preemptions_under_way", {}),
    ("writes waiting", "kpolicy_writes_waiting", {}),
)
_PER_ROUNDS: Final = 10


@dataclass(frozen=True, slots=True)
class Sample:
    """`blocks`: of memory, that Python's objects take. `engine`: sizes of what the engine holds."""

    turn: int
    seconds: float
    bound: int
    resident_mib: float
    blocks: int
    engine: dict[str, int]

    def line(self) -> dict[str, Any]:
        return {
            "round": self.turn,
            "seconds": round(self.seconds, 1),
            "bound": self.bound,
            "residentMiB": round(self.resident_mib, 2),
            "pythonBlocks": self.blocks,
            "engine": self.engine,
        }


def left(process: SchedulerProcess) -> dict[str, int]:
    """The work that is not over yet, by name; empty at rest."""
    counts = {name: int(process.metric(metric, **labels)) for name, metric, labels in _AT_REST}
    return {name: count for name, count in counts.items() if count}


def take_sample(process: SchedulerProcess, turn: int, seconds: float, bound: int) -> Sample:
    sizes = process.counts("kpolicy_engine_size", "what")
    return Sample(
        turn,
        seconds,
        bound,
        resident_mib(process.pid),
        int(process.metric("python_allocated_blocks")),
        {what: count for (what,), count in sorted(sizes.items())},
    )


def growth(values: Sequence[float]) -> float:
    """The part by which it grows in ten rounds: the straight line that fits best, over the mean."""
    slope = linear_regression(range(len(values)), values).slope
    return slope * _PER_ROUNDS / mean(values)
