"""What a journal costs the scheduling loop, and how fast it is replayed from its file, with the
policy that decided and with another one.

The loop runs with and without a journal, by turns, and each goes first in every second round. What
a journal costs is the median of these pairs, on the clock and in processor time; of all other
figures the best run counts.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benches.placing import Placing
from kpolicy.clock import SystemClock
from kpolicy.engine import Engine
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.whole_journal import replay, replay_with
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy, shipped_source

NODES: Final = 1_000
PODS: Final = 30_000
ROUNDS: Final = 4
SEED: Final = 1
_OTHER_POLICY: Final = "bin-packing"
# Larger than any journal of this benchmark.
_BYTES_MAX: Final = 8 << 30


@dataclass(frozen=True, slots=True)
class LoopTime:
    """Seconds on the clock, and of processor time."""

    clock_s: float
    processor_s: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay of all decisions."""

    seconds: float
    decisions: int
    different: int


@dataclass(frozen=True, slots=True)
class Figures:
    """`pairs`: the loop without and with a journal."""

    pods: int
    pairs: Sequence[tuple[LoopTime, LoopTime]]
    same_policy: Replayed
    other_policy: Replayed
    bytes_on_disk: int
    missed: int

    def line(self) -> dict[str, Any]:
        plain, journaled = zip(*self.pairs, strict=True)
        return {
            "pods": self.pods,
            "podsPerSecondWithout": round(self.pods / min(each.clock_s for each in plain)),
            "podsPerSecondWith": round(self.pods / min(each.clock_s for each in journaled)),
            "overhead": _overhead([(p.clock_s, j.clock_s) for p, j in self.pairs]),
            "processorOverhead": _overhead([(p.processor_s, j.processor_s) for p, j in self.pairs]),
            "bytesPerPod": round(self.bytes_on_disk / self.pods),
            "missedCalls": self.missed,
            "replayed": self.same_policy.decisions,
            "different": self.same_policy.different,
            "replayedPerSecond": _per_second(self.same_policy),
            "comparedWithOtherPolicyPerSecond": _per_second(self.other_policy),
        }


def _overhead(pairs: Sequence[tuple[float, float]]) -> float:
    return round(statistics.median(with_ / without for without, with_ in pairs) - 1, 4)


def _per_second(replayed: Replayed) -> int:
    return round(replayed.decisions / replayed.seconds)


def measure(nodes: int = NODES, pods: int = PODS) -> Figures:
    other_program = _other_program()
    pairs, same, other = [], list[Replayed](), list[Replayed]()
    missed = size = 0
    for number in range(ROUNDS):
        plain = [_placed(nodes, pods, None)] if number % 2 else []
        with tempfile.TemporaryDirectory() as folder:
            first = SegmentHeader("bench", "a benchmark", SystemClock().now_ns(), SEED)
            files = SegmentFiles(Path(folder), first, _BYTES_MAX)
            journal = Journal(files, SystemClock(), lambda: None)
            journal.open()
            journal.start()
            with_journal = _placed(nodes, pods, journal)
            journal.stop()
            plain = plain or [_placed(nodes, pods, None)]
            pairs.append((plain[0], with_journal))
            missed, size = journal.statistics().missed, files.size
            journaled = read_journal([folder])
            began_ns = time.perf_counter_ns()
            found = replay(journaled)
            ended_ns = time.perf_counter_ns()
            compared = replay_with(journaled, other_program)
            seconds = (ended_ns - began_ns) / 1e9
            same.append(Replayed(seconds, found.decisions, found.different))
            seconds = (time.perf_counter_ns() - ended_ns) / 1e9
            other.append(Replayed(seconds, compared.decisions, compared.different))
    return Figures(pods, pairs, _fastest(same), _fastest(other), size, missed)


def _fastest(rounds: Sequence[Replayed]) -> Replayed:
    return min(rounds, key=lambda replayed: replayed.seconds)


def _other_program() -> Program:
    compiled = compile_policy([shipped_source(_OTHER_POLICY)], every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def _placed(nodes: int, pods: int, journal: Journal | None) -> LoopTime:
    witnesses = () if journal is None else (journal,)
    placing = Placing(Engine(SEED), Size(nodes, 0, pods), default_program(), witnesses)
    began_ns, processor_ns = time.perf_counter_ns(), time.process_time_ns()
    asyncio.run(placing.run(None))
    clock_s = (time.perf_counter_ns() - began_ns) / 1e9
    return LoopTime(clock_s, (time.process_time_ns() - processor_ns) / 1e9)


def table(figures: Figures) -> list[str]:
    line = figures.line()
    width = max(map(len, line))
    return [f"{name:<{width}}  {value:>12,}" for name, value in line.items()]


def failures(figures: Figures) -> list[str]:
    """Whatever the machine: a journal misses nothing here, and every decision is the same."""
    wrong = []
    if figures.missed:
        wrong.append(f"{figures.missed:,} calls are not in the journal")
    same, other = figures.same_policy, figures.other_policy
    if same.different or same.decisions < figures.pods:
        wrong.append("the replay has not made the same decisions")
    if other.decisions != same.decisions:
        wrong.append("the other policy was not asked about every decision")
    return wrong
