"""Reads a recorded snapshot. Checks the whole file before any of it is used.

The header says what was recorded, when, and by which kpolicy; its unknown fields are ignored. Never
unpacks more than the header says, nor more than `FILE_BYTES_MAX`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from kpolicy.offline.limits import FILE_BYTES_MAX
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_OFF,
    DAMAGED,
    JOURNAL_SEGMENT,
    NEWER_FORMAT,
    NOT_A_SNAPSHOT,
    TOO_LARGE_WHOLE,
    Problem,
)
from kpolicy.quick_dataclass import dataclass
from kpolicy.version import VERSION


@dataclass(frozen=True, slots=True)
class Redaction:
    """Says that names were replaced, and which were not, besides those that never are. `key` tells
    keys apart, and tells nothing else of them; files of earlier releases do not have it."""

    kept_labels: tuple[str, ...] = ()
    kept_namespaces: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin that a writer records. `resource_versions` and `left_out` (why) are by kind;
    `recorded` is RFC 3339, or empty where nobody knows."""

    recorded: str = ""
    cluster_version: str = ""
    resource_versions: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    redaction: Redaction | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """The body once unpacked: how long, its hash, and how many objects of each kind."""

    size_bytes: int
    sha256: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Header:
    origin: Origin
    content: Content
    kpolicy_version: str = VERSION


_JOURNAL_HINT: Final = (
    "`kpolicy replay` reads it, and `kpolicy snapshot from` writes a moment of it as a snapshot"
)


def header_json(header: Header) -> dict[str, Any]:
    origin, content = header.origin, header.content
    versions = origin.resource_versions
    shown: dict[str, Any] = {
        "kpolicy": header.kpolicy_version,
        "recorded": origin.recorded,
        "cluster": {"version": origin.cluster_version},
        "content": {
            "bytes": content.size_bytes,
            "sha256": content.sha256,
            "kinds": {
                kind: {"objects": content.counts.get(kind, 0)}
                | ({"resourceVersion": versions[kind]} if kind in versions else {})
                for kind in sorted({*content.counts, *versions})
            },
        },
        "leftOut": dict(sorted(origin.left_out.items())),
    }
    if origin.redaction is not None:
        shown["redacted"] = {
            "keptLabels": sorted(origin.redaction.kept_labels),
            "keptNamespaces": sorted(origin.redaction.kept_namespaces),
            **({"key": origin.redaction.key} if origin.redaction.key else {}),
        }
    return shown


def encode(header: Header) -> bytes:
    return json.dumps(header_json(header), sort_keys=True, separators=(",", ":")).encode()


def decode(text: bytes) -> Header | None:
    """`None` where it is none."""
    try:
        return _header(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _header(document: Mapping[str, Any]) -> Header:
    content = document["content"]
    kinds = content["kinds"]
    size_bytes, sha256 = content["bytes"], _text(content["sha256"])
    if not isinstance(size_bytes, int) or size_bytes < 0:
        raise TypeError(size_bytes)
    redacted = document.get("redacted")
    origin = Origin(
        recorded=_text(document["recorded"]),
        cluster_version=_text(document["cluster"]["version"]),
        resource_versions={
            kind: _text(listed["resourceVersion"])
            for kind, listed in kinds.items()
            if "resourceVersion" in listed
        },
        left_out={kind: _text(why) for kind, why in document["leftOut"].items()},
        redaction=None
        if redacted is None
        else Redaction(
            tuple(map(_text, redacted["keptLabels"])),
            tuple(map(_text, redacted["keptNamespaces"])),
            _text(redacted.get("key", "")),
        ),
    )
    counts = {kind: int(listed["objects"]) for kind, listed in kinds.items()}
    return Header(origin, Content(size_bytes, sha256, counts), _text(document["kpolicy"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


# The first byte is in no text; the line end shows a transfer that rewrote line ends.
MAGIC: Final = b"\x89KPSNAP\n"
FORMAT_VERSION: Final = 1
# A segment of a journal begins in the same way, and is something else.
JOURNAL_FORMAT: Final = 2
# Format version, length of the header, and the SHA-256 of the header.
PREFIX: Final = struct.Struct(">HI32s")
HEADER_AT: Final = len(MAGIC) + PREFIX.size
HEADER_BYTES_MAX: Final = 1 << 20


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
    header = _read_header(name, packed)
    if isinstance(header, Problem):
        return header
    body_at = HEADER_AT + int(PREFIX.unpack_from(packed, len(MAGIC))[1])
    text = _unpacked(name, header.content, packed, body_at)
    return text if isinstance(text, Problem) else Recording(header, text)


def _read_header(name: str, packed: bytes) -> Header | Problem:
    if len(packed) < len(MAGIC) + 2:
        return _cut_off(name)
    version = int.from_bytes(packed[len(MAGIC) : len(MAGIC) + 2], "big")
    if version == JOURNAL_FORMAT:
        message = "a segment of a journal, which is not the snapshot of one moment"
        return Problem(JOURNAL_SEGMENT, name, "", message, _JOURNAL_HINT)
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
    if _sha256(text) != digest:
        return _damaged(name, "its header is not what was written")
    header = decode(text)
    return _damaged(name, "its header is not one of this format") if header is None else header


def _sha256(text: bytes) -> bytes:
    import hashlib  # noqa: PLC0415  loads OpenSSL, and only a recorded snapshot needs it

    return hashlib.sha256(text).digest()


def _unpacked(name: str, content: Content, packed: bytes, at: int) -> bytes | Problem:
    import zstandard  # noqa: PLC0415  only a recorded snapshot needs it

    if content.size_bytes > FILE_BYTES_MAX:
        message = f"unpacked it would be larger than {FILE_BYTES_MAX >> 30} GiB"
        return Problem(TOO_LARGE_WHOLE, name, "", message)
    body = memoryview(packed)[at:]
    if not body:
        return _cut_off(name)
    try:
        if zstandard.frame_content_size(body) != content.size_bytes:
            return _damaged(name, "its content is not as long as its header says")
        text = zstandard.ZstdDecompressor().decompress(body, allow_extra_data=False)
    except zstandard.ZstdError as error:
        return _broken(name, content, body, str(error))
    except MemoryError:
        message = f"unpacked it takes {content.size_bytes:,} bytes, more than there is memory"
        return Problem(TOO_LARGE_WHOLE, name, "", message)
    if _sha256(text).hex() != content.sha256:
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
