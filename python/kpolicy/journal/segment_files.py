"""Writes the segments of a journal into a folder that does not grow beyond its bound.

What is written is whole: of a piece for which there was no room, nothing stays. When the bound is
reached, the oldest epochs are deleted; a new one begins before that.
"""

from __future__ import annotations

import fcntl
import os
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from kpolicy.api_times import api_time
from kpolicy.journal.limits import (
    CHUNK_BYTES,
    DISK_BYTES,
    EPOCH_SHARE,
    SEGMENT_BYTES_MAX,
    SEGMENTS,
)
from kpolicy.journal.segment_format import (
    END,
    SUFFIX,
    Piece,
    SegmentHeader,
    header_bytes,
    opened,
)
from kpolicy.offline.snapshots.snapshot_problem import Problem

_LOCK: Final = ".journal.lock"
_OWNER_ONLY: Final = 0o600
_OWNERS_FOLDER: Final = 0o700


class JournalFullError(OSError):
    """The bound was reached before a new epoch was complete."""


@dataclass(slots=True)
class _File:
    path: Path
    size: int
    # A process and its epoch.
    epoch: tuple[str, int]


class SegmentFiles:
    """One process writes into a folder at a time: another gets a `BlockingIOError`. Every method
    may raise `OSError`; then the segment ends before what could not be written."""

    def __init__(self, folder: Path, first: SegmentHeader, bytes_max: int = DISK_BYTES) -> None:
        folder.mkdir(_OWNERS_FOLDER, parents=True, exist_ok=True)
        self._folder = folder
        self._header = replace(first, number=0, epoch=0)
        self._bytes_max = bytes_max
        self._segment_bytes = min(bytes_max // SEGMENTS, SEGMENT_BYTES_MAX)
        self._lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, _OWNER_ONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise
        self._files = OrderedDict[Path, _File](
            (found.path, found) for found in sorted(_found(folder), key=lambda file: file.path)
        )
        self._path = folder
        self._stream: BinaryIO | None = None
        self._piece = Piece()  # the records that wait
        self._own_bytes = 0  # of the present epoch
        self._first_ns = 0  # of the records that wait
        self._is_synced = True

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files.values())

    @property
    def epoch(self) -> int:
        return self._header.epoch

    @property
    def is_worn(self) -> bool:
        """Whether the present epoch has used its part of the disk."""
        return self._own_bytes > self._bytes_max // EPOCH_SHARE

    @property
    def _own(self) -> tuple[str, int]:
        return self._header.run, self._header.epoch

    def begin_epoch(
        self, at_ns: int, gap: str = "", gap_from_ns: int = 0, *, number: int = 0
    ) -> None:
        """The records that follow rest on no record before. The epoch is the next one, if nobody
        says which."""
        if self._stream is not None:
            self.flush()
            self._end()
        self._header = replace(
            self._header,
            epoch=number or self._header.epoch + 1,
            first=self._header.number + 1,
            gap=gap,
            gap_from_ns=gap_from_ns,
        )
        self._own_bytes = 0
        self._begin(at_ns)

    def put(self, record: Iterable[bytes], at_ns: int) -> None:
        """Takes the parts of a record."""
        if not self._piece.size:
            self._first_ns = at_ns
        self._piece.put(record)
        if self._piece.size >= CHUNK_BYTES:
            self.flush()
            if self._files[self._path].size >= self._segment_bytes:
                self._end()
                self._begin(at_ns)

    def flush(self) -> None:
        """Hands everything to the operating system."""
        if not self._piece.size:
            return
        packed = self._piece.packed()
        self._piece.clear()
        self._write(packed)
        self._first_ns, self._is_synced = 0, False

    def sync(self) -> None:
        """After this, a power failure takes nothing that was flushed."""
        if self._stream is not None and not self._is_synced:
            os.fsync(self._stream.fileno())
            self._is_synced = True

    def give_up(self) -> int:
        """Ends the segment where its last whole piece ends: nothing more can be written. Gives the
        time of the first record that is lost, or 0."""
        lost_ns, self._first_ns = self._first_ns, 0
        self._piece.clear()
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        return lost_ns

    def close(self) -> None:
        try:
            if self._stream is not None:
                self.flush()
                self._end()
        finally:
            self.give_up()
            os.close(self._lock)

    # --- inside ----------------------------------------------------------------------------------

    def _begin(self, at_ns: int) -> None:
        self._header = replace(self._header, number=self._header.number + 1, began_ns=at_ns)
        self._path = self._folder / _name(self._header)
        descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY)
        self._stream = os.fdopen(descriptor, "wb", buffering=0)
        self._files[self._path] = _File(self._path, 0, self._own)
        try:
            self._write(header_bytes(self._header))
        except OSError:
            self.give_up()
            self._path.unlink(missing_ok=True)
            del self._files[self._path]
            raise

    def _end(self) -> None:
        assert self._stream is not None, "a segment is open"
        self._write(END)
        self.sync()
        self._stream.close()
        self._stream = None

    def _write(self, piece: bytes) -> None:
        assert self._stream is not None, "a segment is open"
        self._make_room(len(piece))
        file = self._files[self._path]
        try:
            rest = memoryview(piece)
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError:
            # Shorter is possible on a full disk too.
            self._stream.truncate(file.size)
            raise
        file.size += len(piece)
        self._own_bytes += len(piece)

    def _make_room(self, size: int) -> None:
        """Deletes the oldest epochs. Parts of an epoch are of no use without its beginning."""
        while self.size + size > self._bytes_max:
            oldest = next(iter(self._files.values())).epoch
            if oldest == self._own:
                raise JournalFullError(0, "the journal has no room left before its next epoch")
            for path in [path for path, file in self._files.items() if file.epoch == oldest]:
                path.unlink(missing_ok=True)
                del self._files[path]


def _name(header: SegmentHeader) -> str:
    """In the order of names, segments are in the order of time."""
    began = api_time(header.began_ns).replace("-", "").replace(":", "")
    return f"{began}-{header.run}-{header.number:06}{SUFFIX}"


def _found(folder: Path) -> list[_File]:
    """Segments of processes before."""
    files = []
    for path in folder.glob(f"*{SUFFIX}"):
        with path.open("rb") as stream:
            segment = opened(str(path), stream)
        if not isinstance(segment, Problem):
            epoch = (segment.header.run, segment.header.epoch)
            files.append(_File(path, path.stat().st_size, epoch))
    return files
