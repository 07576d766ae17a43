"""Snapshots put together: the newest recording of an object counts, and keys must be the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kpolicy
from kpolicy import Origin, Snapshot
from kpolicy.offline.redaction.redact import redacted_origin
from kpolicy.offline.snapshot_file.merging import merged_origin, objects_of
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KEY, Problem
from kpolicy.testing import node, pod

KEY = b"sixteen bytes or more"
OTHER = b"another key, as long as that"


def recorded(path: Path, items: list[dict[str, Any]], **origin: Any) -> Snapshot:
    assert kpolicy.write_snapshot(path, items, Origin(**origin)) == []
    return Snapshot.load(path)


def redacted(path: Path, snapshot: Snapshot, key: bytes) -> Snapshot:
    items = kpolicy.redact(snapshot, key)
    assert kpolicy.write_snapshot(path, items, redacted_origin(snapshot, key)) == []
    return Snapshot.load(path)


def test_the_newest_recording_of_an_object_counts(tmp_path: Path) -> None:
    newer = recorded(
        tmp_path / "newer.kpsnap",
        [node("n1", cpu="8"), node("n2")],
        recorded="2026-01-02T00:00:00Z",
        cluster_version="v1.36.2",
        resource_versions={"Node": "9"},
        left_out={"Pod": "not asked for", "CSINode": "not served"},
    )
    older = recorded(
        tmp_path / "older.kpsnap",
        [node("n1", cpu="4"), pod("web")],
        recorded="2026-01-01T00:00:00Z",
        cluster_version="v1.36.2",
        resource_versions={"Node": "5", "Pod": "5"},
        left_out={"CSINode": "not served"},
    )
    both = [newer, older]
    origin = merged_origin(both)
    assert origin == Origin(
        "2026-01-02T00:00:00Z", "v1.36.2", {"Pod": "5"}, {"CSINode": "not served"}
    )
    assert kpolicy.write_snapshot(tmp_path / "both.kpsnap", objects_of(both), origin) == []
    found = {
        item["metadata"]["name"]: item
        for _, item in Snapshot.load(tmp_path / "both.kpsnap").objects()
    }
    assert found.keys() == {"n1", "n2", "web"}
    assert found["n1"]["status"]["allocatable"]["cpu"] == "8"


def test_one_key_joins_and_another_does_not(tmp_path: Path) -> None:
    plain = recorded(tmp_path / "plain.kpsnap", [node("n1"), pod("web", node_name="n1")])
    first = redacted(tmp_path / "first.kpsnap", plain, KEY)
    same = redacted(tmp_path / "same.kpsnap", plain, KEY)
    other = redacted(tmp_path / "other.kpsnap", plain, OTHER)
    joined = merged_origin([first, same])
    assert isinstance(joined, Origin)
    assert joined.redaction is not None
    for mixed in ([first, other], [first, plain], [first, Snapshot.of([node("n2")])]):
        problem = merged_origin(mixed)
        assert isinstance(problem, Problem)
        assert problem.code == OTHER_KEY


def test_a_key_cannot_be_seen_and_stays_the_same(tmp_path: Path) -> None:
    plain = recorded(tmp_path / "plain.kpsnap", [node("n1")])
    first, second = (redacted_origin(plain, key).redaction for key in (KEY, OTHER))
    assert first is not None
    assert second is not None
    assert first.key != second.key
    assert len(first.key) == 16
    assert KEY.hex() not in first.key
