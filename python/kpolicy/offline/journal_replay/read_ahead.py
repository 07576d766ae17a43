"""Reads the records of an epoch ahead of their replay: other threads unpack pieces, parse records
and decode lines of watches, while the engine is at what comes before.

Records come in their order, and what is wrong with one of them is raised when its turn comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Final, NamedTuple

from kpolicy.engine import Engine, ReadLines, read_lines
from kpolicy.journal.engine_calls import BrokenRecordError, Call, Effect, Record, call_of
from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.journal_replay.decided_pods import DecidedPod, decided_pods
from kpolicy.offline.journal_replay.journal_input import EpochReader, Piece
from kpolicy.offline.limits import PIECES_AHEAD, READING_THREADS
from kpolicy.offline.snapshots.snapshot_problem import Problem

_RESOURCES: Final = frozenset(kind.resource for kind in OBJECT_KINDS)
_NO_PODS: Final[tuple[DecidedPod, ...]] = ()


class AheadRecord(NamedTuple):
    """A record, and what it says: a call of the engine, or decisions that are judged. `lines` are
    those of a watch, decoded."""

    record: Record
    call: Call | None
    pods: tuple[DecidedPod, ...]
    lines: ReadLines | None


class _Read(NamedTuple):
    """The records of a piece, and what ends the epoch after them: a record that says nothing, or
    bytes that are none."""

    records: list[AheadRecord]
    broken: BrokenRecordError | None
    problem: Problem | None


def read_ahead(
    reader: EpochReader, engine: Engine, *, judges: bool
) -> Generator[AheadRecord, None, None]:
    """To be closed, which ends the threads. `judges`: decisions are read from the answers, and are
    not calls. Raises `BrokenRecordError`."""
    with ThreadPoolExecutor(READING_THREADS, thread_name_prefix="kpolicy-journal") as threads:
        pieces = reader.pieces()
        waiting: deque[tuple[Piece, Future[_Read]]] = deque()
        try:
            while True:
                for piece in islice(pieces, PIECES_AHEAD - len(waiting)):
                    waiting.append((piece, threads.submit(_read, piece, engine, judges)))
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


def _read(piece: Piece, engine: Engine, judges: bool) -> _Read:
    parsed: list[tuple[Record, Call | None, tuple[DecidedPod, ...]]] = []
    broken, problem = None, piece.problem
    try:
        for record in piece.records():
            try:
                parsed.append((record, *_parsed(record, judges)))
            except BrokenRecordError as error:
                broken = error
                break
    except BrokenRecordError as error:
        problem = piece.damage(error)
    watches = {
        position: watch
        for position, (_, call, _) in enumerate(parsed)
        if call is not None and (watch := _watch(call)) is not None
    }
    lines = dict(zip(watches, read_lines(engine, list(watches.values())), strict=True))
    made = [AheadRecord(*each, lines.get(position)) for position, each in enumerate(parsed)]
    return _Read(made, broken, problem)


def _parsed(record: Record, judges: bool) -> tuple[Call | None, tuple[DecidedPod, ...]]:
    match record.effect:
        case Effect.MARK:
            return None, _NO_PODS
        case Effect.DECIDES if judges:
            return None, decided_pods(record)
        case _:
            return call_of(record), _NO_PODS


def _watch(call: Call) -> tuple[str, bytes] | None:
    match call:
        case Call("watch", (str() as resource, bytes() as lines, int())) if resource in _RESOURCES:
            return resource, lines
    return None
