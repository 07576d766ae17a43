"""A snapshot redacted: its objects without their names, and the origin that says so.

Owns what is carried over of what recorded snapshots say of themselves. Must not know the rules of
redaction, nor where the key comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kpolicy.offline.json_objects import Json
from kpolicy.offline.recording.header import Origin, Redaction
from kpolicy.offline.redaction.redact import Redactor
from kpolicy.offline.snapshot import Snapshot


def redactor(
    snapshot: Snapshot,
    key: bytes,
    *,
    keep_labels: Iterable[str] = (),
    keep_namespaces: Iterable[str] = (),
) -> Redactor:
    """What can give the snapshot's objects without their names; raises `ValueError` for a key that
    is too short."""

    def objects() -> Iterator[Json]:
        return (item for _, item in snapshot.objects())

    return Redactor(key, objects, keep_labels=keep_labels, keep_namespaces=keep_namespaces)


def redact(
    snapshot: Snapshot,
    key: bytes,
    *,
    keep_labels: Iterable[str] = (),
    keep_namespaces: Iterable[str] = (),
) -> Iterator[Json]:
    """API objects that decide as the snapshot's do, under other names: the same key gives the same
    names."""
    return redactor(
        snapshot, key, keep_labels=keep_labels, keep_namespaces=keep_namespaces
    ).redacted()


def redacted_origin(
    snapshot: Snapshot, keep_labels: Iterable[str] = (), keep_namespaces: Iterable[str] = ()
) -> Origin:
    """Time and versions stay when there is one recording that says them."""
    recordings = snapshot.recordings
    origin = recordings[0].header.origin if len(recordings) == 1 else Origin()
    return replace(origin, redaction=Redaction(tuple(keep_labels), tuple(keep_namespaces)))
