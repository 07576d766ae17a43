"""What a journal costs the scheduling loop, and how fast it is replayed from its file.

The loop runs with and without a journal, by turns; the best run of each counts.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benches.placing import Placing
from kpolicy.clock import SystemClock
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.same_decisions import replayed_epoch
from kpolicy.offline.snapshots.cluster_snapshot import default_program

NODES: Final = 1_000
PODS: Final = 30_000
ROUNDS: Final = 3
SEED: Final = 1
# Larger than any journal of this benchmark.
_BYTES_MAX: Final = 8 << 30


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of the loop, and of a replay of all its decisions."""

    pods: int
    plain_s: float
    journaled_s: float
    replay_s: float
    bytes_on_disk: int
    missed: int
    decisions: int
    different: int

    def line(self) -> dict[str, Any]:
        return {
            "pods": self.pods,
            "podsPerSecondWithout": round(self.pods / self.plain_s),
            "podsPerSecondWith": round(self.pods / self.journaled_s),
            "overhead": round(self.journaled_s / self.plain_s - 1, 4),
            "bytesPerPod": round(self.bytes_on_disk / self.pods),
            "missedCalls": self.missed,
            "replayed": self.decisions,
            "different": self.different,
            "replayedPerSecond": round(self.decisions / self.replay_s),
        }


def measure(nodes: int = NODES, pods: int = PODS) -> Figures:
    plain, journaled, replays = [], [], []
    missed = size = decisions = different = 0
    for _ in range(ROUNDS):
        plain.append(_placed(nodes, pods, None))
        with tempfile.TemporaryDirectory() as folder:
            first = SegmentHeader("bench", "a benchmark", SystemClock().now_ns(), SEED)
            files = SegmentFiles(Path(folder), first, _BYTES_MAX)
            journal = Journal(files, SystemClock(), lambda: None)
            journal.open()
            journal.start()
            journaled.append(_placed(nodes, pods, journal))
            journal.stop()
            missed, size = journal.statistics().missed, files.size
            (epoch,) = read_journal([folder]).epochs
            began_ns = time.perf_counter_ns()
            found, _ = replayed_epoch(epoch)
            replays.append((time.perf_counter_ns() - began_ns) / 1e9)
            decisions, different = found.decisions, found.different
    return Figures(
        pods, min(plain), min(journaled), min(replays), size, missed, decisions, different
    )


def _placed(nodes: int, pods: int, journal: Journal | None) -> float:
    witnesses = () if journal is None else (journal,)
    placing = Placing(nodes, pods, default_program(), witnesses)
    began_ns = time.perf_counter_ns()
    asyncio.run(placing.run(None))
    return (time.perf_counter_ns() - began_ns) / 1e9


def table(figures: Figures) -> list[str]:
    line = figures.line()
    width = max(map(len, line))
    return [f"{name:<{width}}  {value:>12,}" for name, value in line.items()]


def failures(figures: Figures) -> list[str]:
    """Whatever the machine: a journal misses nothing here, and every decision is the same."""
    wrong = []
    if figures.missed:
        wrong.append(f"{figures.missed:,} calls are not in the journal")
    if figures.different or figures.decisions < figures.pods:
        wrong.append("the replay has not made the same decisions")
    return wrong
