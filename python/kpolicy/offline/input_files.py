"""Files of snapshots: finds them in folders, reads and unpacks them.

Gzip and recorded snapshots are recognized by their first bytes.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kpolicy.offline.limits import CHUNK_BYTES, FILE_BYTES_MAX, FILES_MAX
from kpolicy.offline.policy_files import files_in
from kpolicy.offline.snapshot_file.reader import Header, is_recording, read_recording
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_SHORT,
    NO_FILES,
    NOT_READABLE,
    TOO_LARGE,
    TOO_LARGE_WHOLE,
    Problem,
)
from kpolicy.quick_dataclass import dataclass

STDIN: Final = "-"
RECORDED: Final = ".kpsnap"
_SUFFIXES: Final = (".json", ".yaml", ".yml", RECORDED)
_GZIP: Final = b"\x1f\x8b"
# zlib's own flag for "with a gzip header".
_WINDOW_OF_GZIP: Final = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True)
class File:
    """`text` is unpacked; `name` is what the user knows it by; `header` has what was recorded."""

    name: str
    text: bytes
    header: Header | None = None


def read_files(argument: str | Path) -> Iterator[File | Problem]:
    """Each file of a file, a folder or standard input, in the order of names."""
    if str(argument) == STDIN:
        yield from _read("<stdin>", sys.stdin.buffer)
        return
    for found in _files(Path(argument)):
        if isinstance(found, Problem):
            yield found
        else:
            yield from _opened(found)


def _files(path: Path) -> Iterator[Path | Problem]:
    if not path.is_dir():
        yield path
        return
    found = files_in(path, (*_SUFFIXES, *(f"{suffix}.gz" for suffix in _SUFFIXES)))
    if not found:
        hint = f"files that end in {', '.join(_SUFFIXES)}, or in one of these and .gz, are read"
        yield Problem(NO_FILES, str(path), "", "no snapshot file is in this folder", hint)
    if len(found) > FILES_MAX:
        message = f"more than {FILES_MAX:,} files; the rest is not read"
        yield Problem(TOO_LARGE, str(path), "", message)
    yield from found[:FILES_MAX]


def _opened(path: Path) -> Iterator[File | Problem]:
    try:
        with path.open("rb") as stream:
            yield from _read(str(path), stream)
    except OSError as error:
        yield Problem(NOT_READABLE, str(path), "", f"cannot be read: {error.strerror or error}")


def _read(name: str, stream: BinaryIO) -> Iterator[File | Problem]:
    text = stream.read(FILE_BYTES_MAX + 1)
    problem = None
    if text.startswith(_GZIP):
        text, problem = _unpacked(name, text)
    if is_recording(text) or name.removesuffix(".gz").endswith(RECORDED):
        yield _recorded(name, text)
        return
    if len(text) > FILE_BYTES_MAX:
        message = f"larger than {FILE_BYTES_MAX >> 30} GiB; the rest is not read"
        text, problem = text[:FILE_BYTES_MAX], Problem(TOO_LARGE, name, "", message)
    if problem is not None:
        yield problem
    yield File(name, text)


def _recorded(name: str, packed: bytes) -> File | Problem:
    if len(packed) > FILE_BYTES_MAX:
        message = f"larger than {FILE_BYTES_MAX >> 30} GiB; a recorded snapshot is read whole"
        return Problem(TOO_LARGE_WHOLE, name, "", message)
    recording = read_recording(name, packed)
    if isinstance(recording, Problem):
        return recording
    return File(name, recording.text, recording.header)


def _unpacked(name: str, packed: bytes) -> tuple[bytes, Problem | None]:
    """The content of a broken file up to the break is used."""
    pieces: list[bytes] = []
    size = 0
    rest = packed
    try:
        while rest and size <= FILE_BYTES_MAX:
            unpacker = zlib.decompressobj(_WINDOW_OF_GZIP)
            while rest and not unpacker.eof and size <= FILE_BYTES_MAX:
                pieces.append(unpacker.decompress(rest, CHUNK_BYTES))
                size += len(pieces[-1])
                rest = unpacker.unconsumed_tail
            if not unpacker.eof and size <= FILE_BYTES_MAX:
                return b"".join(pieces), Problem(CUT_SHORT, name, "", "the gzip data is cut short")
            rest = unpacker.unused_data.lstrip(b"\0")
    except zlib.error as error:
        return b"".join(pieces), Problem(CUT_SHORT, name, "", f"the gzip data is broken: {error}")
    return b"".join(pieces), None
