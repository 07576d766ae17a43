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
from kpolicy.engine import Decision, Engine, Scheduled, ScheduledUnit, take_lines
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
from kpolicy.offline.journal_replay.engine_state import (
    BEFORE_MARK,
    ENGINE_ERRORS,
    Mark,
    assume,
    mark_of,
)
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader
from kpolicy.offline.journal_replay.read_ahead import AheadRecord, read_ahead
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
    judges = found.kept is not Kept.EVERYTHING
    with closing(read_ahead(reader, engine, judges=judges)) as records:
        before = 0 if mark is None else _fill(engine, mark, records)
        for number, ahead in enumerate(records, start=before + 1):
            if until_ns is not None and ahead.record.at_ns > until_ns:
                return
            different = _replay_record(engine, ahead, found)
            if different is not None:
                if found.first is None:
                    found.first = _placed(different, reader.segment, number, ahead.record)
                if not judges:  # what follows rests on it
                    found.different = 1
                    return
            if progress is not None and not number % 1024:
                progress(found.decisions)


def _kept(header: SegmentHeader, mark: Mark | None) -> Kept:
    if header.epoch > 1 and mark is None:
        return Kept.NOTHING
    is_exact = mark is None or mark.is_exact
    return Kept.EVERYTHING if is_exact and not header.redaction else Kept.JUDGEMENT


def _fill(engine: Engine, mark: Mark, records: Iterator[AheadRecord]) -> int:
    """Makes the calls up to the mark, and gives how many records there were. Raises
    `BrokenRecordError`."""
    for number, ahead in enumerate(records, start=1):
        if ahead.record.effect is Effect.MARK:
            assume(engine, mark, ahead.record)
            return number
        if ahead.record.effect in BEFORE_MARK:
            with suppress(*ENGINE_ERRORS):  # as it was when this was recorded
                _made(engine, ahead)
    return 0


def _replay_record(engine: Engine, ahead: AheadRecord, found: ReplayedEpoch) -> _Found | None:
    found.calls += 1
    found.to_ns = ahead.record.at_ns
    if ahead.record.effect is Effect.MARK:
        return None
    if found.kept is Kept.EVERYTHING:
        return _compare_bytes(engine, ahead, found)
    return _judge(engine, ahead, found)


def _made(engine: Engine, ahead: AheadRecord) -> Any:
    """The engine's answer; None of lines of a watch, of which nothing was recorded."""
    call = ahead.call
    assert call is not None, "only marks and judged decisions have none"
    if ahead.lines is None:
        return made_again(engine, call)
    resource, lines, now_ns = call.arguments
    take_lines(engine, resource, lines, ahead.lines, now_ns)
    return None


# --- byte for byte -------------------------------------------------------------------------------


def _compare_bytes(engine: Engine, ahead: AheadRecord, found: ReplayedEpoch) -> _Found | None:
    record = ahead.record
    answer: Any
    try:
        answer = _made(engine, ahead)
    except ENGINE_ERRORS as error:
        answer = error
    found.decisions += _decisions_in(answer)
    now = answer_bytes(record.name, answer)
    return None if now == record.answer else _first_difference(record.answer, now)


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


def _placed(different: _Found, segment: str, number: int, record: Record) -> Different:
    pod, name, recorded, replayed = different
    return Different(segment, number, record.at_ns, record.name, pod, name, recorded, replayed)


# --- judged --------------------------------------------------------------------------------------


def _judge(engine: Engine, ahead: AheadRecord, found: ReplayedEpoch) -> _Found | None:
    record = ahead.record
    if record.effect is not Effect.DECIDES:
        if record.name != "settle_room":  # nothing was nominated here
            with suppress(*ENGINE_ERRORS):
                _made(engine, ahead)
        return None
    first: _Found | None = None
    found.decisions += len(ahead.pods)
    acted = [pod for pod in ahead.pods if pod.is_placed or pod.is_parked]
    opinions = engine.second_opinions([(pod.uid, pod.node) for pod in acted], record.at_ns)
    for pod, opinion in zip(acted, opinions, strict=True):
        is_best = opinion.node == pod.node and opinion.verdict == pod.verdict
        # Extenders, whose answers are not judged, narrow the choice.
        if not is_best and not pod.is_extended:
            found.different += 1
            first = first or (pod.key, "node", pod.node or "parked", opinion.node or "parked")
    return first
