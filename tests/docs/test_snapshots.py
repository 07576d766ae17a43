"""The snapshots of the guide hold the cluster that is written beside them, and its redaction."""

from __future__ import annotations

from pathlib import Path

import kpolicy
from kpolicy import Origin, Snapshot
from kpolicy.offline.redaction.redact import redacted_origin
from tests.tree.sources import ROOT

GUIDES = ROOT / "docs" / "guides"
KEY = b"no secret: the key of the guide"
RECORDED = "2026-06-01T08:00:00Z"


def write(folder: Path) -> None:
    """`python -c` with this function writes the two files anew, after a change of the cluster."""
    cluster = Snapshot.load(GUIDES / "shop.yaml")
    items = [item for _, item in cluster.objects()]
    versions = {str(item["kind"]): "48213" for item in items}
    origin = Origin(RECORDED, "v1.36.2", versions)
    assert kpolicy.write_snapshot(folder / "shop.kpsnap", items, origin) == []
    snapshot = Snapshot.load(folder / "shop.kpsnap")
    kpolicy.write_snapshot(
        folder / "shop-redacted.kpsnap",
        kpolicy.redact(snapshot, KEY),
        redacted_origin(snapshot, KEY),
    )


def test_the_files_hold_what_is_written_beside_them(tmp_path: Path) -> None:
    write(tmp_path)
    for name in ("shop.kpsnap", "shop-redacted.kpsnap"):
        [here], [made] = (Snapshot.load(folder / name).recordings for folder in (GUIDES, tmp_path))
        assert here.header.content == made.header.content
        assert here.header.origin == made.header.origin
        assert here.header.content.counts == {"Namespace": 1, "Node": 3, "Pod": 3}


def test_the_redacted_snapshot_has_no_names() -> None:
    [text] = Snapshot.load(GUIDES / "shop-redacted.kpsnap").texts
    for word in (b"shop", b"web", b"search", b"worker", b"vault", b"registry"):
        assert word not in text.body
    assert b"eu-1b" in text.body
