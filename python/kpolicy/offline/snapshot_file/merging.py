"""Puts several snapshots together to one: of an object that is in more than one, the newest
recording has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kpolicy.offline.snapshot_file.reader import Header, Origin
from kpolicy.offline.snapshots.cluster_snapshot import Recorded, Snapshot
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KEY, Problem


def in_order(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """By the time at which they were recorded. One that does not say comes first, in the order in
    which it was named."""
    return sorted(snapshots, key=lambda snapshot: snapshot.now_ns or 0)


def objects_of(snapshots: Sequence[Snapshot]) -> Iterator[dict[str, Any]]:
    for snapshot in in_order(snapshots):
        for _, item in snapshot.objects():
            yield item


def merged_origin(snapshots: Sequence[Snapshot]) -> Origin | Problem:
    """What the whole says of its origin. Names that were replaced with different keys, or only in
    some of the snapshots, do not join."""
    recordings = [found for each in in_order(snapshots) for found in each.recordings]
    if not recordings:
        return Origin()
    keys = {_key(found.header) for found in recordings}
    is_partly = any(keys) and any(not snapshot.recordings for snapshot in snapshots)
    if len(keys) > 1 or is_partly:
        return _different_keys(recordings)
    headers = [found.header.origin for found in recordings]
    versions = {origin.cluster_version for origin in headers}
    # A kind is missing only if no snapshot has it.
    left_out = {
        kind: why
        for kind, why in headers[-1].left_out.items()
        if all(kind in origin.left_out for origin in headers)
    }
    listed: dict[str, set[str]] = {}
    for origin in headers:
        for kind, version in origin.resource_versions.items():
            listed.setdefault(kind, set()).add(version)
    return replace(
        headers[-1],
        cluster_version=headers[-1].cluster_version if len(versions) == 1 else "",
        resource_versions={kind: next(iter(own)) for kind, own in listed.items() if len(own) == 1},
        left_out=left_out,
    )


def _key(header: Header) -> str:
    """Two files that do not name their keys may have one."""
    redaction = header.origin.redaction
    return "" if redaction is None else redaction.key or "unknown"


def _different_keys(recordings: Sequence[Recorded]) -> Problem:
    names = ", ".join(found.source for found in recordings)
    message = "names were replaced with different keys, or only in some, so that they do not join"
    return Problem(OTHER_KEY, names, "", message, "redact all of them with one key, then merge")
