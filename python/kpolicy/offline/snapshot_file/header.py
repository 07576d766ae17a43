"""The header of a recorded snapshot: what was recorded, when, and by which kpolicy.

Unknown fields are ignored. A field of a wrong type makes the header invalid.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from kpolicy.version import VERSION

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Redaction:
    """That names were replaced, and which were not, besides those that never are."""

    kept_labels: tuple[str, ...] = ()
    kept_namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """What a writer is told. `resource_versions` and `left_out` (why) are by kind; `recorded` is
    RFC 3339, or empty where nobody knows."""

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


def moment(now_ns: int) -> str:
    """RFC 3339 in UTC, as the API writes times."""
    return datetime.fromtimestamp(now_ns // _NANOSECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
        }
    return shown


def encode(header: Header) -> bytes:
    return json.dumps(header_json(header), sort_keys=True, separators=(",", ":")).encode()


def decode(text: bytes) -> Header | None:
    """`None` where it is none."""
    try:
        document = json.loads(text)
        return _header(document)
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
            kind: _text(each["resourceVersion"])
            for kind, each in kinds.items()
            if "resourceVersion" in each
        },
        left_out={kind: _text(why) for kind, why in document["leftOut"].items()},
        redaction=None
        if redacted is None
        else Redaction(
            tuple(map(_text, redacted["keptLabels"])), tuple(map(_text, redacted["keptNamespaces"]))
        ),
    )
    counts = {kind: int(each["objects"]) for kind, each in kinds.items()}
    return Header(origin, Content(size_bytes, sha256, counts), _text(document["kpolicy"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


# The first byte is in no text; the line end shows a transfer that rewrote line ends.
MAGIC: Final = b"\x89KPSNAP\n"
FORMAT_VERSION: Final = 1
# Format version, length of the header, and the SHA-256 of the header.
PREFIX: Final = struct.Struct(">HI32s")
HEADER_AT: Final = len(MAGIC) + PREFIX.size
HEADER_BYTES_MAX: Final = 1 << 20
