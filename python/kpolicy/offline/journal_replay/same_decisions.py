"""Replays a journal with the policies and the seed that decided, and compares every decision, byte
for byte.

Of a later epoch in which the engine held more than objects, each decision is judged instead: it
must be one of the best, and what was parked must fit nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kpolicy.api_times import api_micro_time
from kpolicy.engine import Decision, Engine, MadeCalls, Scheduled, ScheduledUnit, make_calls
from kpolicy.journal.engine_calls import (
    FIELDS,
    BrokenRecordError,
    Effect,
    Record,
    answer_bytes,
    decided_fields,
    made_again,
)
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.calls_at_once import Decisions
from kpolicy.offline.journal_replay.engine_state import (
    BEFORE_MARK,
    ENGINE_ERRORS,
    Mark,
    assume,
    mark_of,
)
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader
from kpolicy.offline.journal_replay.read_ahead import (
    Ahead,
    AheadCalls,
    AheadRecord,
    alone,
    read_ahead,
)
from kpolicy.offline.snapshots.snapshot_problem import CUT_OFF, JOURNAL_GAP, Problem

Progress = Callable[[int], None]
# A difference: pod, field, and both values.
_Found = tuple[str, str, Any, Any]


class Kept(StrEnum):
    """What a replay of an epoch compares."""

    EVERYTHING = "every byte of every decision"
    JUDGEMENT = "whether each decision is one of the best"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Different:
    """The first decision that is another one: the record's place, the pod, and the field."""

    segment: str
    record: int
    at_ns: int
    call: str
    pod: str
    field: str
    recorded: Any
    replayed: Any

    def line(self) -> dict[str, Any]:
        return {
            "segment": self.segment,
            "record": self.record,
            "time": api_micro_time(self.at_ns),
            "call": self.call,
            "pod": self.pod,
            "field": self.field,
            "recorded": self.recorded,
            "replayed": self.replayed,
        }


@dataclass(slots=True)
class ReplayedEpoch:
    run: str
    epoch: int
    recorder: str
    is_redacted: bool
    from_ns: int
    kept: Kept = Kept.NOTHING
    to_ns: int = 0
    calls: int = 0
    decisions: int = 0
    different: int = 0
    first: Different | None = None
    problems: list[Problem] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "epoch": self.epoch,
            "recorder": self.recorder,
            "compared": self.kept.name.lower(),
            "from": api_micro_time(self.from_ns),
            "to": api_micro_time(self.to_ns),
            "calls": self.calls,
            "decisions": self.decisions,
            "different": self.different,
            "problems": [
                {"code": each.code, "source": each.source, "message": each.message}
                for each in self.problems
            ],
        }


def replayed_epoch(
    epoch: Epoch,
    *,
    until_ns: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[ReplayedEpoch, Engine]:
    """The outcome, and the engine as it is after the last call. `until_ns`: only calls that were
    answered by then."""
    header = epoch.header
    found = ReplayedEpoch(
        header.run, header.epoch, header.recorder, bool(header.redaction), header.began_ns
    )
    found.to_ns = found.from_ns
    reader = EpochReader(epoch)
    engine = Engine(header.seed, threads=threads)
    try:
        mark = mark_of(EpochReader(epoch).records()) if header.epoch > 1 else None
        if mark is not None:
            engine = Engine(header.seed, threads=threads, decided=mark.decisions)
        _replay(reader, mark, engine, found, until_ns=until_ns, progress=progress)
    except BrokenRecordError as error:
        message = f"damaged: {error}; what comes before is used"
        found.problems.append(Problem("Damaged", reader.segment, "", message))
    if reader.problem is not None:
        found.problems.append(reader.problem)
    if epoch.gap is not None:
        found.problems.append(epoch.gap)
    return found, engine


def _replay(
    reader: EpochReader,
    mark: Mark | None,
    engine: Engine,
    found: ReplayedEpoch,
    *,
    until_ns: int | None,
    progress: Progress | None,
) -> None:
    epoch, header = reader.epoch, reader.epoch.header
    if header.gap:
        since, until = api_micro_time(header.gap_from_ns), api_micro_time(header.began_ns)
        message = f"calls are missing from {since} to {until}: {header.gap}"
        found.problems.append(Problem(JOURNAL_GAP, str(epoch.segments[0].path), "", message))
    if not epoch.is_whole:
        message = "the segments before are gone, and what follows rests on them"
        found.problems.append(Problem(JOURNAL_GAP, str(epoch.segments[0].path), "", message))
        return
    found.kept = _kept(header, mark)
    if found.kept is Kept.NOTHING:
        message = "the epoch ended before it had all objects"
        found.problems.append(Problem(CUT_OFF, str(epoch.segments[0].path), "", message))
        return
    decisions = Decisions.MADE if found.kept is Kept.EVERYTHING else Decisions.JUDGED
    with closing(read_ahead(reader, engine, decisions)) as records:
        replaying = _Replaying(reader, engine, found)
        if mark is not None:
            replaying.fill(mark, records)
        for ahead in records:
            if not replaying.replay(ahead, until_ns):
                return
            if progress is not None:
                progress(found.decisions)


def _kept(header: SegmentHeader, mark: Mark | None) -> Kept:
    if header.epoch > 1 and mark is None:
        return Kept.NOTHING
    is_exact = mark is None or mark.is_exact
    return Kept.EVERYTHING if is_exact and not header.redaction else Kept.JUDGEMENT


class _Replaying:
    """The replay of an epoch: `_number` counts its records."""

    def __init__(self, reader: EpochReader, engine: Engine, found: ReplayedEpoch) -> None:
        self._reader = reader
        self._engine = engine
        self._found = found
        self._number = 0

    def fill(self, mark: Mark, records: Iterator[Ahead]) -> None:
        """Makes the calls up to the mark. Raises `BrokenRecordError`."""
        for ahead in records:
            if isinstance(ahead, AheadCalls):
                self._number += len(ahead.frames)
                make_calls(self._engine, ahead.calls, len(ahead.frames), only_objects=True)
                continue
            self._number += 1
            if ahead.record.effect is Effect.MARK:
                assume(self._engine, mark, ahead.record)
                return
            if ahead.call is not None and ahead.record.effect in BEFORE_MARK:
                with suppress(*ENGINE_ERRORS):  # as it was when this was recorded
                    made_again(self._engine, ahead.call)

    def replay(self, ahead: Ahead, until_ns: int | None) -> bool:
        """Whether the replay goes on: not after `until_ns`, nor after other decisions, on which
        what follows rests. Raises `BrokenRecordError`."""
        if isinstance(ahead, AheadRecord):
            is_due = until_ns is None or ahead.record.at_ns <= until_ns
            return is_due and self._replay_record(ahead)
        count = ahead.until(until_ns)
        try:
            made = make_calls(self._engine, ahead.calls, count)
        except ENGINE_ERRORS:
            # Each call raises now.
            rest = range(ahead.calls.made(), count)
            goes_on = all(self._replay_record(alone(ahead.record(n), Decisions.MADE)) for n in rest)
        else:
            goes_on = self._compare(ahead, made)
        return goes_on and count == len(ahead.frames)

    def _compare(self, ahead: AheadCalls, made: MadeCalls) -> bool:
        """Calls were made at once."""
        found, before = self._found, self._number
        self._number += made.calls
        found.calls += made.calls
        found.decisions += made.decisions
        if made.calls:
            found.to_ns = ahead.frames[made.calls - 1].at_ns
        if made.different is not None:
            record = ahead.record(made.calls - 1)
            self._differs(_first_difference(record.answer, made.different), record, self._number)
            found.different = 1
            return False
        for other in made.disagreements:
            # Extenders, whose answers are not judged, narrow the choice.
            if not other.is_extended:
                found.different += 1
                node = other.other_node or "parked"
                different = other.pod, "node", other.node or "parked", node
                self._differs(different, ahead.record(other.call), before + other.call + 1)
        return True

    def _replay_record(self, ahead: AheadRecord) -> bool:
        """A record by itself."""
        record, found = ahead.record, self._found
        self._number += 1
        found.calls += 1
        found.to_ns = record.at_ns
        if ahead.call is None:
            return True
        if found.kept is not Kept.EVERYTHING:
            if record.name != "settle_room":  # nothing was nominated here
                with suppress(*ENGINE_ERRORS):
                    made_again(self._engine, ahead.call)
            return True
        answer: Any
        try:
            answer = made_again(self._engine, ahead.call)
        except ENGINE_ERRORS as error:
            answer = error
        found.decisions += _decisions_in(answer)
        now = answer_bytes(record.name, answer)
        if now == record.answer:
            return True
        self._differs(_first_difference(record.answer, now), record, self._number)
        found.different = 1
        return False

    def _differs(self, different: _Found, record: Record, number: int) -> None:
        if self._found.first is None:
            pod, name, recorded, replayed = different
            segment = self._reader.segment
            self._found.first = Different(
                segment, number, record.at_ns, record.name, pod, name, recorded, replayed
            )


def _decisions_in(answer: Any) -> int:
    match answer:
        case Scheduled(decisions=decisions):
            return len(decisions)
        case ScheduledUnit(placements=placements):
            return len(placements) or 1
        case Decision():
            return 1
    return 0


def _first_difference(recorded: bytes, replayed: bytes) -> _Found:
    try:
        pairs = list(zip(decided_fields(recorded), decided_fields(replayed), strict=True))
    except (BrokenRecordError, ValueError):
        pairs = []
    for before, after in pairs:
        for name, left, right in zip(FIELDS, before, after, strict=True):
            if left != right:
                return f"{before[2]}/{before[3]}", name, left, right
    return "", "", _document(recorded), _document(replayed)


def _document(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text.decode(errors="replace")
