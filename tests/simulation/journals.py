"""Journals of simulated processes: written at once instead of by a thread, and replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpolicy.clock import Clock
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import EpochReader, read_journal
from kpolicy.offline.journal_replay.same_decisions import ReplayedEpoch, replayed_epoch


class JournalAtOnce(Journal):
    def __call__(
        self, name: str, arguments: tuple[Any, ...], options: Mapping[str, Any], answer: Any
    ) -> None:
        super().__call__(name, arguments, options, answer)
        self.write_waiting()


def journal_of(folder: Path, run_id: str, seed: int, clock: Clock) -> Journal:
    first = SegmentHeader(run_id, "the simulation", clock.now_ns(), seed)
    journal = JournalAtOnce(SegmentFiles(folder, first), clock, on_anew=lambda: None)
    journal.open()
    return journal


@dataclass(slots=True)
class Replays:
    """What became of the journals in some folders."""

    decisions: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    differing: list[ReplayedEpoch] = field(default_factory=list)

    def add(self, folder: Path) -> None:
        """`folder` has a folder for each process."""
        for process in sorted(folder.iterdir()):
            journal = read_journal([process])
            assert journal.problems == ()
            for epoch in journal.epochs:
                replayed, _ = replayed_epoch(epoch, threads=1)
                self.decisions += replayed.decisions
                self.calls.update(record.name for record in EpochReader(epoch).records())
                if replayed.different or replayed.problems:
                    self.differing.append(replayed)
