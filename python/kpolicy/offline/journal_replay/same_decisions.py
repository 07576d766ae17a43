"""Replays a journal with the policies and the seed that decided, and compares every decision, byte
for byte.

Of a later epoch in which the engine held more than objects, each decision is judged instead: it
must be one of the best, and what was parked must fit nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kpolicy.api_times import api_micro_time
from kpolicy.engine import Decision, Engine, Scheduled, ScheduledUnit
from kpolicy.journal.engine_calls import (
    FIELDS,
    BrokenRecordError,
    Effect,
    Record,
    answer_bytes,
    call_of,
    decided_fields,
    made_again,
)
from kpolicy.offline.journal_replay.decided_pods import decided_pods
from kpolicy.offline.journal_replay.engine_state import ENGINE_ERRORS, Mark, fill, mark_of
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader
from kpolicy.offline.snapshots.snapshot_problem import CUT_OFF, JOURNAL_GAP, Problem

Progress = Callable[[int], None]


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
    records = reader.records()
    before = 0
    found.kept = Kept.EVERYTHING
    if header.epoch > 1:
        if mark is None:
            found.kept = Kept.NOTHING
            message = "the epoch ended before it had all objects"
            found.problems.append(Problem(CUT_OFF, str(epoch.segments[0].path), "", message))
            return
        before = fill(engine, mark, records)
        found.kept = Kept.EVERYTHING if mark.is_exact else Kept.JUDGEMENT
    if header.redaction:
        found.kept = Kept.JUDGEMENT
    compare = _compare_bytes if found.kept is Kept.EVERYTHING else _judge
    for number, record in enumerate(records, start=before + 1):
        if until_ns is not None and record.at_ns > until_ns:
            return
        found.calls += 1
        found.to_ns = record.at_ns
        if record.effect is Effect.MARK:
            continue
        different = compare(engine, record, found)
        if different is not None:
            if found.first is None:
                found.first = _placed(different, reader.segment, number, record)
            if found.kept is Kept.EVERYTHING:  # what follows rests on it
                found.different = 1
                return
        if progress is not None and not number % 1024:
            progress(found.decisions)


# --- byte for byte -------------------------------------------------------------------------------


# Pod, field, and both values.
_Found = tuple[str, str, Any, Any]


def _compare_bytes(engine: Engine, record: Record, found: ReplayedEpoch) -> _Found | None:
    answer: Any
    try:
        answer = made_again(engine, call_of(record))
    except BrokenRecordError:
        raise
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


def _judge(engine: Engine, record: Record, found: ReplayedEpoch) -> _Found | None:
    if record.effect is not Effect.DECIDES:
        if record.name == "settle_room":  # nothing was nominated here
            return None
        try:
            made_again(engine, call_of(record))
        except BrokenRecordError:
            raise
        except ENGINE_ERRORS:
            return None
        return None
    first: _Found | None = None
    pods = decided_pods(record)
    found.decisions += len(pods)
    acted = [pod for pod in pods if pod.is_placed or pod.is_parked]
    opinions = engine.second_opinions([(pod.uid, pod.node) for pod in acted], record.at_ns)
    for pod, opinion in zip(acted, opinions, strict=True):
        is_best = opinion.node == pod.node and opinion.verdict == pod.verdict
        # Extenders, whose answers are not judged, narrow the choice.
        if not is_best and not pod.is_extended:
            found.different += 1
            first = first or (pod.key, "node", pod.node or "parked", opinion.node or "parked")
    return first
