"""Objects on their way into a file: kept on disk, given back in the one order of the format.

Owns the order (kind, namespace and name, uid) and that of an object that is there twice the last
counts, as in the engine. In memory is a line of index for each object. Must not know compression.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from kpolicy.offline.kinds import key_of, uid_of

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
