"""Reads a journal: finds its segments, and puts them together to epochs, each of which rests on
nothing before it.

Missing segments, and segments that are cut off, end an epoch where they are; this is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final

from kpolicy.api_times import api_time
from kpolicy.journal.engine_calls import BrokenRecordError, Record, records
from kpolicy.journal.limits import SEGMENTS_MAX
from kpolicy.journal.segment_format import SUFFIX, Segment, SegmentHeader, opened, unpacked
from kpolicy.offline.snapshots.snapshot_problem import (
    DAMAGED,
    JOURNAL_GAP,
    NO_FILES,
    NOT_READABLE,
    OTHER_KEY,
    TOO_LARGE,
    Problem,
)
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SegmentFile:
    path: Path
    header: SegmentHeader


@dataclass(frozen=True, slots=True)
class Epoch:
    """Consecutive segments, and what is missing after them. `is_whole`: its first one is there."""

    segments: tuple[SegmentFile, ...]
    gap: Problem | None = None

    @property
    def header(self) -> SegmentHeader:
        return self.segments[0].header

    @property
    def is_whole(self) -> bool:
        return self.header.number == self.header.first


@dataclass(frozen=True, slots=True)
class JournalInput:
    epochs: tuple[Epoch, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A packed piece of a segment, or the problem that ends the epoch there."""

    path: Path
    packed: bytes
    problem: Problem | None = None

    def chunk(self) -> bytes:
        """Its records. Raises `BrokenRecordError`."""
        chunk = unpacked(self.packed) if self.problem is None else b""
        if isinstance(chunk, str):
            raise BrokenRecordError(chunk)
        return chunk

    def damage(self, error: BrokenRecordError) -> Problem:
        message = f"damaged: {error}; what comes before is used"
        return Problem(DAMAGED, str(self.path), "", message)


class EpochReader:
    """Reads the records of an epoch once. `segment` is the one of the last record. Afterwards,
    `problem` says why it ended early."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.segment = ""
        self.problem: Problem | None = None

    def records(self) -> Iterator[Record]:
        for piece in self.pieces():
            self.segment = piece.path.name
            try:
                yield from records(piece.chunk())
            except BrokenRecordError as error:
                self.problem = piece.damage(error)
            self.problem = self.problem or piece.problem
            if self.problem is not None:
                return

    def pieces(self) -> Iterator[Piece]:
        """The last one has a problem if the epoch ended early."""
        for path in (file.path for file in self.epoch.segments):
            with _reading(path) as segment:
                problem = segment if isinstance(segment, Problem) else None
                if isinstance(segment, Segment):
                    try:
                        yield from (Piece(path, packed) for packed in segment.pieces())
                    except OSError as error:
                        message = f"cannot be read: {error.strerror or error}"
                        problem = Problem(NOT_READABLE, segment.name, "", message)
                    problem = problem or segment.problem
            if problem is not None:
                yield Piece(path, b"", problem)
                return


@contextmanager
def _reading(path: Path) -> Iterator[Segment | Problem]:
    try:
        stream = path.open("rb")
    except OSError as error:
        yield Problem(NOT_READABLE, str(path), "", f"cannot be read: {error.strerror or error}")
        return
    with stream:
        yield opened(str(path), stream)


_NO_SEGMENT: Final = "no segment of a journal is in this folder"


def read_journal(arguments: Iterable[str | Path]) -> JournalInput:
    """Folders and files of segments, in the order of time."""
    files: list[SegmentFile] = []
    problems: list[Problem] = []
    for argument in arguments:
        path = Path(argument)
        paths = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not paths:
            problems.append(Problem(NO_FILES, str(path), "", _NO_SEGMENT))
        if len(paths) > SEGMENTS_MAX:
            message = f"more than {SEGMENTS_MAX:,} files; the rest is not read"
            problems.append(Problem(TOO_LARGE, str(path), "", message))
        for found in paths[:SEGMENTS_MAX]:
            with _reading(found) as segment:
                if isinstance(segment, Problem):
                    problems.append(segment)
                else:
                    files.append(SegmentFile(found, segment.header))
    if len({file.header.redaction for file in files}) > 1:
        message = "segments are redacted with different keys, so that their names do not join"
        hint = "redact the whole journal with one key"
        problems.append(Problem(OTHER_KEY, str(files[0].path.parent), "", message, hint))
        return JournalInput((), tuple(problems))
    return JournalInput(tuple(_epochs(files)), tuple(problems))


def _epochs(files: list[SegmentFile]) -> Iterator[Epoch]:
    began: dict[str, int] = {}
    for file in files:
        run, began_ns = file.header.run, file.header.began_ns
        began[run] = min(began.get(run, began_ns), began_ns)

    def order(file: SegmentFile) -> tuple[int, str, int]:
        return began[file.header.run], file.header.run, file.header.number

    files.sort(key=order)
    for _, grouped in groupby(files, key=lambda file: (file.header.run, file.header.epoch)):
        yield from _unbroken(list(grouped))


def _unbroken(files: Sequence[SegmentFile]) -> Iterator[Epoch]:
    """One, or one more for each place where a segment is missing."""
    start = 0
    for place in range(1, len(files) + 1):
        if place < len(files):
            before, after = files[place - 1].header, files[place].header
            if after.number == before.number + 1:
                continue
            yield Epoch(tuple(files[start:place]), _missing(files[place - 1], files[place]))
            start = place
    yield Epoch(tuple(files[start:]))


def _missing(before: SegmentFile, after: SegmentFile) -> Problem:
    first, last = before.header.number + 1, after.header.number - 1
    which = f"segment {first} is" if first == last else f"segments {first} to {last} are"
    until = api_time(after.header.began_ns)
    message = f"{which} missing, until {until}; what follows cannot be replayed"
    return Problem(JOURNAL_GAP, str(before.path), "", message)
