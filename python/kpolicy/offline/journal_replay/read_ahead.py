"""Reads the records of an epoch ahead of their replay: other threads unpack pieces, parse records
and decode lines of watches, while the engine is at what comes before.

Records come in their order, and what is wrong with one of them is raised when its turn comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple, TypeAlias

from kpolicy.engine import Engine, RecordedCalls, read_calls
from kpolicy.journal.engine_calls import (
    BrokenRecordError,
    Call,
    Effect,
    Frame,
    Record,
    call_of,
    frames,
)
from kpolicy.offline.journal_replay.calls_at_once import AtOnce, Decisions, at_once
from kpolicy.offline.journal_replay.decided_pods import DecidedPod, decided_pods
from kpolicy.offline.journal_replay.engine_state import ENGINE_ERRORS
from kpolicy.offline.journal_replay.journal_input import EpochReader, Piece
from kpolicy.offline.limits import PIECES_AHEAD, READING_THREADS
from kpolicy.offline.snapshots.snapshot_problem import Problem


class AheadRecord(NamedTuple):
    """A record, and what it says: a call of the engine, or decisions."""

    record: Record
    call: Call | None
    pods: tuple[DecidedPod, ...]


class AheadCalls(NamedTuple):
    """Consecutive records whose calls the engine makes at once."""

    chunk: bytes
    frames: list[Frame]
    calls: RecordedCalls

    def record(self, position: int) -> Record:
        return self.frames[position].record(self.chunk)

    def until(self, until_ns: int | None) -> int:
        """How many were answered by then."""
        late = (n for n, frame in enumerate(self.frames) if until_ns and frame.at_ns > until_ns)
        return next(late, len(self.frames))


Ahead: TypeAlias = AheadRecord | AheadCalls


class _Read(NamedTuple):
    """The records of a piece, and what ends the epoch after them: a record that says nothing, or
    bytes that are none."""

    records: list[Ahead]
    broken: BrokenRecordError | None
    problem: Problem | None


def read_ahead(
    reader: EpochReader, engine: Engine, decisions: Decisions
) -> Generator[Ahead, None, None]:
    """To be closed, which ends the threads. Raises `BrokenRecordError`."""
    with ThreadPoolExecutor(READING_THREADS, thread_name_prefix="kpolicy-journal") as threads:
        pieces = reader.pieces()
        waiting: deque[tuple[Piece, Future[_Read]]] = deque()
        try:
            while True:
                for piece in islice(pieces, PIECES_AHEAD - len(waiting)):
                    waiting.append((piece, threads.submit(_read, piece, engine, decisions)))
                if not waiting:
                    return
                piece, reading = waiting.popleft()
                read = reading.result()
                reader.segment = piece.path.name
                yield from read.records
                if read.broken is not None:
                    raise read.broken
                if read.problem is not None:
                    reader.problem = read.problem
                    return
        finally:
            threads.shutdown(cancel_futures=True)


def _read(piece: Piece, engine: Engine, decisions: Decisions) -> _Read:
    problem, broken, chunk = piece.problem, None, b""
    found: list[Frame] = []
    try:
        chunk = piece.chunk()
        found.extend(frames(chunk))  # those before damage are kept
    except BrokenRecordError as error:
        problem = piece.damage(error)
    reading = _Reading(chunk, engine, decisions)
    try:
        for frame in found:
            reading.add(frame)
        reading.end_row()
    except BrokenRecordError as error:
        broken = error
    return _Read(reading.records, broken, problem)


class _Reading:
    """Reads the records of a piece one by one. Raises `BrokenRecordError`."""

    def __init__(self, chunk: bytes, engine: Engine, decisions: Decisions) -> None:
        self.records: list[Ahead] = []
        self._chunk = chunk
        self._engine = engine
        self._decisions = decisions
        self._frames: list[Frame] = []
        self._calls: list[AtOnce] = []

    def add(self, frame: Frame) -> None:
        call = at_once(self._chunk, frame, self._decisions)
        if call is not None:
            self._frames.append(frame)
            self._calls.append(call)
            return
        self.end_row()
        self.records.append(alone(frame.record(self._chunk), self._decisions))

    def end_row(self) -> None:
        """Ends a row of calls that are made at once. Only the engine sees whether it can make a
        call, so that some of them may have to be made alone."""
        found, self._frames = self._frames, []
        calls, self._calls = self._calls, []
        if not found:
            return
        try:
            rows = read_calls(self._engine, self._chunk, calls)
        except ENGINE_ERRORS as error:
            raise BrokenRecordError("the arguments of a call are not its own") from error
        start = 0
        for row, count in rows:
            end = start + count
            if count:
                self.records.append(AheadCalls(self._chunk, found[start:end], row))
            if end < len(found):
                self._add_alone(found[end])
            start = end + 1

    def _add_alone(self, frame: Frame) -> None:
        """A call that the engine has not read."""
        if frame.effect is Effect.DECIDES and self._decisions is not Decisions.MADE:
            raise BrokenRecordError("decisions are not those of this format")
        self.records.append(alone(frame.record(self._chunk), self._decisions))


def alone(record: Record, decisions: Decisions) -> AheadRecord:
    """A record that is replayed by itself. Raises `BrokenRecordError`."""
    match record.effect:
        case Effect.MARK:
            return AheadRecord(record, None, ())
        case Effect.DECIDES if decisions is not Decisions.MADE:
            return AheadRecord(record, None, decided_pods(record))
        case _:
            return AheadRecord(record, call_of(record), ())
