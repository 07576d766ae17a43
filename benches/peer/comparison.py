"""Runs every scheduler on the same file, in turns, several times in one run.

A ratio is kpolicy's rate divided by the other scheduler's, in the same turn and for the same first
pods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from benches.peer.timing import Timing
from kpolicy.offline.bench.generated_cluster import Size

OURS: Final = "kpolicy"
THEIRS: Final = "kube-scheduler"
ALL: Final = "all"
SAMPLED: Final = "sampled"


@dataclass(frozen=True, slots=True)
class Contender:
    """One scheduler in one mode; `run` decides the pods of the file."""

    scheduler: str
    scored: str
    run: Callable[[], Timing]


@dataclass(frozen=True, slots=True)
class Row:
    """One contender over one workload; figures are medians of its runs, `best` their best.

    `ratio` says how many times as fast kpolicy was; 0 in the row that is kpolicy's own."""

    workload: str
    size: Size
    scheduler: str
    scored: str
    pods: int
    scheduled: int
    pods_per_second: float
    best: float
    p50_us: float
    p99_us: float
    cpu_us: float
    ratio: float

    def line(self) -> dict[str, Any]:
        ratio = {"ratio": round(self.ratio, 1)} if self.ratio else {}
        return {
            "workload": self.workload,
            "nodes": self.size.nodes,
            "existing": self.size.existing,
            "waiting": self.size.pods,
            "scheduler": self.scheduler,
            "scored": self.scored,
            "pods": self.pods,
            "scheduled": self.scheduled,
            "podsPerSecond": round(self.pods_per_second, 1),
            "podsPerSecondBest": round(self.best, 1),
            "p50us": round(self.p50_us, 2),
            "p99us": round(self.p99_us, 2),
            "cpuUsPerPod": round(self.cpu_us, 2),
            **ratio,
        }


def in_turns(workload: str, size: Size, contenders: Sequence[Contender], turns: int) -> list[Row]:
    """Runs all schedulers in turns. The others are compared with the first."""
    runs = [[contender.run() for contender in contenders] for _ in range(turns)]
    rows = []
    for position, contender in enumerate(contenders):
        own = [turn[position] for turn in runs]
        ratio = median(ratio_of(turn[0], turn[position]) for turn in runs) if position else 0.0
        rows.append(_row(workload, size, contender, own, ratio))
    return rows


def ratio_of(first: Timing, other: Timing) -> float:
    """The ratio over the pods that both decided."""
    pods = min(first.pods, other.pods)
    return first.rate_of_first(pods) / other.rate_of_first(pods)


def _row(
    workload: str, size: Size, contender: Contender, runs: Sequence[Timing], ratio: float
) -> Row:
    longest = max(runs, key=lambda run: run.pods)
    rates = [run.pods_per_second for run in runs]
    return Row(
        workload,
        size,
        contender.scheduler,
        contender.scored,
        longest.pods,
        longest.scheduled,
        median(rates),
        max(rates),
        median(run.quantile_us(50) for run in runs),
        median(run.quantile_us(99) for run in runs),
        median(run.cpu_us_a_pod for run in runs),
        ratio,
    )
