"""Writes a recorded snapshot: the same objects and origin give the same bytes.

Objects wait in a temporary file, so that memory holds only an index. The file is replaced in one
step. Some fields are never written: no rule reads them, and they are large or may hold secrets
(variables, arguments, commands, headers of probes).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from kpolicy.offline.snapshot_file.reader import (
    FORMAT_VERSION,
    MAGIC,
    PREFIX,
    Content,
    Header,
    Origin,
    encode,
)
from kpolicy.offline.snapshots.json_objects import is_read, key_of, name_of, uid_of
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KIND, Problem

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA: Final = frozenset({"managedFields", "selfLink"})
_CONTAINER: Final = frozenset(
    {
        "args",
        "command",
        "env",
        "envFrom",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    }
)
_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
# A controller's pods are there themselves; its template would bring their variables back.
_OF_SPEC: Final[Mapping[str, frozenset[str]]] = {
    "ReplicaSet": frozenset({"template"}),
    "ReplicationController": frozenset({"template"}),
    "StatefulSet": frozenset({"template", "volumeClaimTemplates"}),
}
_OF_OBJECT: Final[Mapping[str, frozenset[str]]] = {"StorageClass": frozenset({"parameters"})}


def cleaned(item: Mapping[str, Any]) -> dict[str, Any]:
    """The object without them; what has another form than it should is left as it is."""
    kind = str(item.get("kind"))
    kept = _without(item, _OF_OBJECT.get(kind, frozenset()))
    if isinstance(metadata := item.get("metadata"), dict):
        kept["metadata"] = _metadata(metadata)
    if isinstance(spec := item.get("spec"), dict):
        kept["spec"] = (
            _pod_spec(spec) if kind == "Pod" else _without(spec, _OF_SPEC.get(kind, frozenset()))
        )
    return kept


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = _without(metadata, _METADATA)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        kept["annotations"] = _without(annotations, frozenset({_LAST_APPLIED}))
    return kept


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(spec)
    for name in _CONTAINER_LISTS:
        if isinstance(containers := spec.get(name), list):
            kept[name] = [
                _without(container, _CONTAINER) if isinstance(container, dict) else container
                for container in containers
            ]
    return kept


def _without(holder: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in holder.items() if name not in names}


# Beyond this level a file takes much longer to write and is hardly smaller.
_LEVEL: Final = 9
NOT_WRITTEN: Final = "NotWritten"
_BUFFER_BYTES: Final = 1 << 20


class _Entry(NamedTuple):
    """The place of an object's text. Entries sort in the order of the format."""

    kind: str
    key: str
    uid: str
    at: int
    length: int


class Writer(AbstractContextManager["Writer"]):
    """Collects objects in any order, then writes them. If an object is added twice, the last one
    counts, as in the engine."""

    def __init__(self, folder: Path | None = None) -> None:
        # The file has no name. It is gone when it is closed, or when the process ends.
        self._file = tempfile.TemporaryFile(buffering=_BUFFER_BYTES, dir=folder)  # noqa: SIM115
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._size = 0

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, item: Mapping[str, Any]) -> Problem | None:
        """Returns why the object is left out: no rule reads it, or it has no name."""
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
        key, uid = key_of(item), uid_of(item)
        identity = (kind, uid if kind == "Pod" else key)
        self._file.write(text)
        self._entries[identity] = _Entry(kind, key, uid, self._size, len(text))
        self._size += len(text)
        return None

    def discard(self, kind: str) -> None:
        """Forgets all objects of a kind, when its list begins again."""
        self._entries = {
            identity: entry for identity, entry in self._entries.items() if entry.kind != kind
        }

    def write(self, stream: BinaryIO, origin: Origin) -> Header:
        import zstandard  # noqa: PLC0415  only a recorded snapshot needs it

        digest, size = hashlib.sha256(), 0
        for line in self._lines():
            digest.update(line)
            size += len(line)
        counts = Counter(entry.kind for entry in self._entries.values())
        header = Header(origin, Content(size, digest.hexdigest(), dict(sorted(counts.items()))))
        encoded = encode(header)
        prefix = PREFIX.pack(FORMAT_VERSION, len(encoded), hashlib.sha256(encoded).digest())
        stream.write(MAGIC + prefix + encoded)
        packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        with packer.stream_writer(stream, size=size, closefd=False) as packed:
            for line in self._lines():
                packed.write(line)
        return header

    def _lines(self) -> Iterator[bytes]:
        for entry in sorted(self._entries.values()):
            self._file.seek(entry.at)
            yield self._file.read(entry.length) + b"\n"
        self._file.seek(self._size)


def write_snapshot(
    path: str | Path, items: Iterable[Mapping[str, Any]], origin: Origin | None = None
) -> list[Problem]:
    """Write API objects as a recorded snapshot; return what could not be written.

    Raises `OSError` when the file cannot be written."""
    target = Path(path)
    with Writer(target.absolute().parent) as writer:
        problems = [problem for item in items if (problem := writer.add(item)) is not None]
        with replacing(target) as stream:
            writer.write(stream, origin or Origin())
    return problems


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream that replaces `path` at the end, unless an error is raised. Writes directly to
    what is no file (a pipe, /dev/null). Raises `OSError`."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    # Only the owner may read it, from the start.
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
