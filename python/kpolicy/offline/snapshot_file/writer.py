"""A recorded snapshot written: the same objects and origin give the same bytes.

Owns the canonical text of an object and the frame around all of them. Time comes in with the
origin. Must not know where objects come from.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, NamedTuple, Self

from kpolicy.offline.snapshot_file.header import (
    FORMAT_VERSION,
    MAGIC,
    PREFIX,
    Content,
    Header,
    Origin,
    encode,
)
from kpolicy.offline.snapshot_file.omitted_fields import cleaned
from kpolicy.offline.snapshots.object_kinds import is_read, key_of, name_of, uid_of
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KIND, Problem

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
        prefix = PREFIX.pack(FORMAT_VERSION, len(encoded), hashlib.sha256(encoded).digest())
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


_BUFFER_BYTES: Final = 1 << 20


class _Entry(NamedTuple):
    kind: str
    key: str
    uid: str
    at: int
    length: int


class Spool:
    """Its file has no name and is gone once it is closed, or we are."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(  # noqa: SIM115  closed by ours
            buffering=_BUFFER_BYTES, dir=folder
        )
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._size = 0

    def close(self) -> None:
        self._file.close()

    def add(self, item: Mapping[str, Any], text: bytes) -> None:
        """`text` is the object's, without a line end."""
        kind, key, uid = str(item["kind"]), key_of(item), uid_of(item)
        self._file.write(text)
        identity = (kind, uid if kind == "Pod" else key)
        self._entries[identity] = _Entry(kind, key, uid, self._size, len(text))
        self._size += len(text)

    def discard(self, kind: str) -> None:
        """Forget all of a kind: its list begins again."""
        self._entries = {
            identity: entry for identity, entry in self._entries.items() if entry.kind != kind
        }

    def counts(self) -> Counter[str]:
        return Counter(entry.kind for entry in self._entries.values())

    def texts(self) -> Iterator[bytes]:
        for entry in sorted(self._entries.values()):
            self._file.seek(entry.at)
            yield self._file.read(entry.length)
        self._file.seek(self._size)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Takes the place of `path` at the end; after an error what was there before still is. What is
    no file (a pipe, /dev/null) is written as it is. Raises `OSError`."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    # Its rights are the owner's alone from the first moment on.
    descriptor, name = tempfile.mkstemp(".kpsnap.tmp", f".{path.name}.", path.absolute().parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
