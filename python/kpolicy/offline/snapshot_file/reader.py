"""Reads a recorded snapshot. Checks the whole file before any of it is used.

Never unpacks more than the header says, nor more than `FILE_BYTES_MAX`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from kpolicy.offline.limits import FILE_BYTES_MAX
from kpolicy.offline.snapshot_file.header import (
    FORMAT_VERSION,
    HEADER_AT,
    HEADER_BYTES_MAX,
    MAGIC,
    PREFIX,
    Content,
    Header,
    decode,
)
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_OFF,
    DAMAGED,
    NEWER_FORMAT,
    NOT_A_SNAPSHOT,
    TOO_LARGE_WHOLE,
    Problem,
)

_AGAIN: Final = "copy it again from where it came, or record it again"


@dataclass(frozen=True, slots=True)
class Recording:
    """`text` is JSON objects, one a line."""

    header: Header
    text: bytes


def is_recording(start: bytes) -> bool:
    """By the first bytes, also when even they are cut off."""
    return bool(start) and (start.startswith(MAGIC) or MAGIC.startswith(start))


def read_recording(name: str, packed: bytes) -> Recording | Problem:
    if not packed.startswith(MAGIC):
        if MAGIC.startswith(packed):
            return _cut_off(name)
        message = "not a recorded snapshot: its first bytes are of something else"
        hint = "`kpolicy snapshot record` writes one; others need a name in .json or .yaml"
        return Problem(NOT_A_SNAPSHOT, name, "", message, hint)
    header = _header(name, packed)
    if isinstance(header, Problem):
        return header
    text = _unpacked(name, header.content, packed, _body_at(packed))
    return text if isinstance(text, Problem) else Recording(header, text)


def _body_at(packed: bytes) -> int:
    return HEADER_AT + int(PREFIX.unpack_from(packed, len(MAGIC))[1])


def _header(name: str, packed: bytes) -> Header | Problem:
    if len(packed) < len(MAGIC) + 2:
        return _cut_off(name)
    version = int.from_bytes(packed[len(MAGIC) : len(MAGIC) + 2], "big")
    if version > FORMAT_VERSION:
        message = f"written in format {version}; this kpolicy reads up to format {FORMAT_VERSION}"
        return Problem(NEWER_FORMAT, name, "", message, "use a newer kpolicy")
    if version < 1:
        return _damaged(name, "its format version is 0, which there never was")
    if len(packed) < HEADER_AT:
        return _cut_off(name)
    _, length, digest = PREFIX.unpack_from(packed, len(MAGIC))
    if length > HEADER_BYTES_MAX:
        return _damaged(name, "its header says it is longer than one can be")
    text = packed[HEADER_AT : HEADER_AT + length]
    if len(text) < length:
        return _cut_off(name)
    if hashlib.sha256(text).digest() != digest:
        return _damaged(name, "its header is not what was written")
    header = decode(text)
    return _damaged(name, "its header is not one of this format") if header is None else header


def _unpacked(name: str, content: Content, packed: bytes, at: int) -> bytes | Problem:
    import zstandard  # noqa: PLC0415  only a recorded snapshot needs it

    if content.size_bytes > FILE_BYTES_MAX:
        message = f"unpacked it would be larger than {FILE_BYTES_MAX >> 30} GiB"
        return Problem(TOO_LARGE_WHOLE, name, "", message)
    body = memoryview(packed)[at:]
    if not body:
        return _cut_off(name)
    try:
        told = zstandard.frame_content_size(body)
        if told != content.size_bytes:
            return _damaged(name, "its content is not as long as its header says")
        text = zstandard.ZstdDecompressor().decompress(body, allow_extra_data=False)
    except zstandard.ZstdError as error:
        return _broken(name, content, body, str(error))
    except MemoryError:
        message = f"unpacked it takes {content.size_bytes:,} bytes, more than there is memory"
        return Problem(TOO_LARGE_WHOLE, name, "", message)
    if hashlib.sha256(text).hexdigest() != content.sha256:
        return _damaged(name, "its content is not what was written: the hashes differ")
    return text


def _broken(name: str, content: Content, body: memoryview, why: str) -> Problem:
    """Cut off when all there is unpacks and the end is missing, else damaged."""
    import zstandard  # noqa: PLC0415  only a recorded snapshot needs it

    unpacker = zstandard.ZstdDecompressor().decompressobj()
    size, step = 0, 1 << 16
    try:
        for start in range(0, len(body), step):
            size += len(unpacker.decompress(body[start : start + step]))
            if size > content.size_bytes or unpacker.eof:
                return _damaged(name, "there is more in it than its header says")
    except zstandard.ZstdError:
        return _damaged(name, f"its content cannot be unpacked: {why}")
    return _cut_off(name)


def _cut_off(name: str) -> Problem:
    return Problem(CUT_OFF, name, "", "cut off: the end of the file is missing", _AGAIN)


def _damaged(name: str, message: str) -> Problem:
    return Problem(DAMAGED, name, "", f"damaged: {message}", _AGAIN)
