"""The bytes of a segment: a header, then pieces that are packed and checked each by itself
(docs/internals/journal.md).

A segment grows while it is read, and may end anywhere: what comes before is whole.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any, BinaryIO, Final

from kpolicy.journal.limits import CHUNK_UNPACKED_BYTES_MAX, PACK_LEVEL, PIECE_MEMORY_BYTES_MAX
from kpolicy.offline.snapshot_file.reader import (
    HEADER_AT,
    HEADER_BYTES_MAX,
    JOURNAL_FORMAT,
    MAGIC,
    PREFIX,
)
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_OFF,
    DAMAGED,
    NEWER_FORMAT,
    NOT_A_JOURNAL,
    NOT_READABLE,
    Problem,
)
from kpolicy.version import VERSION

SUFFIX: Final = ".kpsnap"
# Length of a packed piece; 0 ends the segment.
_LENGTH: Final = struct.Struct(">I")
END: Final = _LENGTH.pack(0)


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """`run` is the process that wrote, `number` counts its segments from 1. An epoch rests on no
    record before it: `epoch` counts them from 1, and `first` is the number of its first segment.
    `gap`: why calls before this epoch are missing, and `gap_from_ns` since when. `seed` is that of
    the engine, and `recorder` the command that wrote."""

    run: str
    recorder: str
    began_ns: int
    seed: int
    number: int = 1
    epoch: int = 1
    first: int = 1
    cluster_version: str = ""
    gap: str = ""
    gap_from_ns: int = 0
    # Which key has replaced the names; empty if none has. Then the labels whose values it has kept,
    # and the namespaces, besides those that are never replaced.
    redaction: str = ""
    kept_labels: tuple[str, ...] = ()
    kept_namespaces: tuple[str, ...] = ()
    kpolicy: str = VERSION


def header_bytes(header: SegmentHeader) -> bytes:
    text = json.dumps(asdict(header), sort_keys=True, separators=(",", ":")).encode()
    return MAGIC + PREFIX.pack(JOURNAL_FORMAT, len(text), hashlib.sha256(text).digest()) + text


class Piece:
    """Records that are packed together. Its memory and the packer's are used for one piece after
    another: fresh pages of memory for each would take longer than packing."""

    def __init__(self) -> None:
        import zstandard  # noqa: PLC0415  only a journal needs it

        self._packer = zstandard.ZstdCompressor(level=PACK_LEVEL, write_checksum=True)
        self._records = BytesIO()

    @property
    def size(self) -> int:
        """Bytes of the records so far."""
        return self._records.tell()

    def put(self, record: Iterable[bytes]) -> None:
        """Takes a copy of the parts of a record."""
        self._records.writelines(record)

    def packed(self) -> bytes:
        with self._records.getbuffer() as memory, memory[: self.size] as records:
            piece = self._packer.compress(records)
        return _LENGTH.pack(len(piece)) + piece

    def clear(self) -> None:
        # A page of a list can be much larger than any piece after it.
        if self.size > PIECE_MEMORY_BYTES_MAX:
            self._records = BytesIO()
        self._records.seek(0)


class Segment:
    """A segment to be read. `problem` says where reading ended, unless that was its end; `is_open`
    if the last piece is whole, and the end is not there yet."""

    def __init__(self, name: str, stream: BinaryIO, header: SegmentHeader) -> None:
        self.name = name
        self.header = header
        self.problem: Problem | None = None
        self.is_open = False
        self._stream = stream

    def pieces(self) -> Iterator[bytes]:
        """Each as it was packed."""
        while True:
            head = self._stream.read(_LENGTH.size)
            if not head:
                self.is_open = True
                return
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
            if head == END:
                return
            piece = self._stream.read(length) if length else b""
            if len(head) < _LENGTH.size or len(piece) < length:
                message = "cut off: the end of the last piece is missing; what comes before is used"
                self.problem = Problem(CUT_OFF, self.name, "", message)
                return
            yield piece

    def close(self) -> None:
        self._stream.close()


def opened(name: str, stream: BinaryIO) -> Segment | Problem:
    """The segment after its header was read, or why it is none."""
    try:
        return _opened(name, stream)
    except OSError as error:
        return Problem(NOT_READABLE, name, "", f"cannot be read: {error.strerror or error}")


def _opened(name: str, stream: BinaryIO) -> Segment | Problem:
    start = stream.read(HEADER_AT)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + 2:
        if start and MAGIC.startswith(start[: len(MAGIC)]):
            return _no_header(name)
        return Problem(NOT_A_JOURNAL, name, "", "not a segment of a journal", _HINT)
    version = int.from_bytes(start[len(MAGIC) : len(MAGIC) + 2], "big")
    if version < JOURNAL_FORMAT:
        message = "a snapshot of one moment, and not a segment of a journal"
        return Problem(NOT_A_JOURNAL, name, "", message, _HINT)
    if version > JOURNAL_FORMAT:
        message = f"written in format {version}; this kpolicy reads up to format {JOURNAL_FORMAT}"
        return Problem(NEWER_FORMAT, name, "", message, "use a newer kpolicy")
    if len(start) < HEADER_AT:
        return _no_header(name)
    _, length, digest = PREFIX.unpack_from(start, len(MAGIC))
    text = stream.read(length) if length <= HEADER_BYTES_MAX else b""
    if length <= HEADER_BYTES_MAX and len(text) < length:
        return _no_header(name)
    header = _header(text) if hashlib.sha256(text).digest() == digest else None
    if header is None:
        return Problem(DAMAGED, name, "", "damaged: its header is not what was written")
    return Segment(name, stream, header)


_HINT: Final = "`kpolicy run --journal DIR` and `kpolicy snapshot record --follow` write one"


def _no_header(name: str) -> Problem:
    return Problem(CUT_OFF, name, "", "cut off in its header: nothing of it can be used")


_LISTS: Final = frozenset({"kept_labels", "kept_namespaces"})


def _header(text: bytes) -> SegmentHeader | None:
    try:
        document = json.loads(text)
        fields: dict[str, Any] = {
            name: document[name] for name in SegmentHeader.__slots__ if name in document
        }
        for name in _LISTS & fields.keys():
            fields[name] = tuple(fields[name])
        header = SegmentHeader(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = (
        header.number,
        header.epoch,
        header.first,
        header.began_ns,
        header.seed,
        header.gap_from_ns,
    )
    words = (
        header.run,
        header.recorder,
        header.cluster_version,
        header.gap,
        header.redaction,
        *header.kept_labels,
        *header.kept_namespaces,
    )
    is_right = all(type(number) is int and 0 <= number < 2**64 for number in numbers)
    return header if is_right and all(isinstance(word, str) for word in words) else None


def unpacked(piece: bytes) -> bytes | str:
    """The records of a piece, or why there are none."""
    import zstandard  # noqa: PLC0415  only a journal needs it

    try:
        size = zstandard.frame_content_size(piece)
        if not 0 <= size <= CHUNK_UNPACKED_BYTES_MAX:
            return "a piece is larger than one can be"
        return zstandard.ZstdDecompressor().decompress(piece, allow_extra_data=False)
    except (zstandard.ZstdError, MemoryError) as error:
        return f"a piece cannot be unpacked ({error})"
