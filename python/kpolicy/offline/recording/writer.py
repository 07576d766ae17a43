"""A recorded snapshot written: the same objects and origin give the same bytes.

Owns the canonical text of an object and the frame around all of them. Time comes in with the
origin. Must not know where objects come from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from kpolicy.offline.kinds import is_read, name_of
from kpolicy.offline.problem import OTHER_KIND, Problem
from kpolicy.offline.recording.destination import replacing
from kpolicy.offline.recording.header import Content, Header, Origin, encode
from kpolicy.offline.recording.layout import MAGIC, PREFIX, VERSION
from kpolicy.offline.recording.left_out import cleaned
from kpolicy.offline.recording.spool import Spool

# Beyond this level a file takes much longer to write and is hardly smaller.
_LEVEL: Final = 9
NOT_WRITTEN: Final = "NotWritten"


class Writer:
    """Collects objects in any order, then writes them. A context."""

    def __init__(self, folder: Path | None = None) -> None:
        self._spool = Spool(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._spool.close()

    def add(self, item: Mapping[str, Any]) -> Problem | None:
        """What no rule reads and what has no name is left out, and told."""
        kind, name = str(item.get("kind") or "(no kind)"), name_of(item)
        if not is_read(item):
            return Problem(OTHER_KIND, "", f"{kind} {name}", "no rule reads it; left out")
        if not name:
            return Problem(NOT_WRITTEN, "", kind, "it has no name; left out")
        try:
            text = json.dumps(
                cleaned(item), sort_keys=True, separators=(",", ":"), allow_nan=False
            ).encode()
        except (ValueError, TypeError, RecursionError) as error:
            return Problem(NOT_WRITTEN, "", f"{kind} {name}", f"not JSON ({error}); left out")
        self._spool.add(item, text)
        return None

    def discard(self, kind: str) -> None:
        """Forget what was added of a kind."""
        self._spool.discard(kind)

    def write(self, stream: BinaryIO, origin: Origin) -> Header:
        import zstandard  # noqa: PLC0415  only a recorded snapshot needs it

        digest, size = hashlib.sha256(), 0
        for text in self._spool.texts():
            digest.update(text)
            digest.update(b"\n")
            size += len(text) + 1
        content = Content(size, digest.hexdigest(), dict(sorted(self._spool.counts().items())))
        header = Header(origin, content)
        encoded = encode(header)
        prefix = PREFIX.pack(VERSION, len(encoded), hashlib.sha256(encoded).digest())
        stream.write(MAGIC + prefix + encoded)
        packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        with packer.stream_writer(stream, size=size, closefd=False) as packed:
            for text in self._spool.texts():
                packed.write(text + b"\n")
        return header


def write_snapshot(
    path: str | Path, items: Iterable[Mapping[str, Any]], origin: Origin | None = None
) -> list[Problem]:
    """Write API objects as a recorded snapshot; what could not be written is told.

    Raises `OSError` when the file cannot be written."""
    target = Path(path)
    with Writer(target.absolute().parent) as writer:
        problems = [problem for item in items if (problem := writer.add(item)) is not None]
        with replacing(target) as stream:
            writer.write(stream, origin or Origin())
    return problems
