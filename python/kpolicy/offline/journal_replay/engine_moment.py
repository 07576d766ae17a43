"""An engine as it was at a moment of a journal, or why the journal does not know that moment."""

from __future__ import annotations

from kpolicy.engine import Engine
from kpolicy.offline.journal_replay.journal_input import JournalInput
from kpolicy.offline.journal_replay.journal_moment import epoch_at
from kpolicy.offline.journal_replay.same_decisions import Progress, replayed_epoch
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class EngineMoment:
    """`at_ns`: the last call that was answered by then."""

    engine: Engine
    at_ns: int


def engine_at(
    journal: JournalInput, at_ns: int | None = None, progress: Progress | None = None
) -> EngineMoment | Problem:
    """Without a time, as it was at the end. The journal has at least one epoch."""
    epoch = epoch_at(journal, at_ns)
    if isinstance(epoch, Problem):
        return epoch
    found, engine = replayed_epoch(epoch, until_ns=at_ns, progress=progress)
    return EngineMoment(engine, found.to_ns)
