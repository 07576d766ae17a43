"""The epoch of a journal that knows a moment, or why none does."""

from __future__ import annotations

from kpolicy.api_times import api_time
from kpolicy.journal.engine_calls import BrokenRecordError
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader, JournalInput
from kpolicy.offline.snapshots.snapshot_problem import (
    AFTER_JOURNAL,
    BEFORE_JOURNAL,
    JOURNAL_GAP,
    Problem,
)


def epoch_at(journal: JournalInput, at_ns: int | None = None) -> Epoch | Problem:
    """Without a time, the last one. The journal has at least one epoch."""
    begun = [each for each in journal.epochs if at_ns is None or each.header.began_ns <= at_ns]
    if not begun:
        first = journal.epochs[0]
        message = f"the journal begins after this time, at {api_time(first.header.began_ns)}"
        return Problem(BEFORE_JOURNAL, _source(first), "", message)
    epoch = begun[-1]
    if not epoch.is_whole:
        message = "the first segment before this time is missing"
        return Problem(JOURNAL_GAP, _source(epoch), "", message)
    later = journal.epochs[len(begun)] if len(begun) < len(journal.epochs) else None
    return epoch if at_ns is None else _unknown(epoch, later, at_ns) or epoch


def _unknown(epoch: Epoch, later: Epoch | None, at_ns: int) -> Problem | None:
    """Why the state at this time is not known, if it is not: what comes after the last record of
    an epoch nobody wrote down."""
    last_ns = _last_ns(epoch)
    if at_ns <= last_ns:
        return None
    ended = api_time(last_ns)
    if later is not None:
        begins = api_time(later.header.began_ns)
        message = f"nothing was recorded between {ended} and {begins}"
        return Problem(JOURNAL_GAP, _source(epoch), "", message, f"name a time up to {ended}")
    message = f"the journal ends before this time, at {ended}"
    hint = "without --at, the end of the journal is taken"
    return Problem(AFTER_JOURNAL, _source(epoch), "", message, hint)


def _last_ns(epoch: Epoch) -> int:
    last_ns = epoch.header.began_ns
    try:
        for record in EpochReader(epoch).records():
            last_ns = max(last_ns, record.at_ns)
    except BrokenRecordError:
        pass  # what comes before the damage is used
    return last_ns


def _source(epoch: Epoch) -> str:
    return str(epoch.segments[-1].path.parent)
