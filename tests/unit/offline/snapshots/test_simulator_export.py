"""Exports of kube-scheduler-simulator are snapshots, in JSON and in YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kpolicy import Snapshot
from kpolicy.offline.snapshots.simulator_export import export_as_list
from kpolicy.testing import node, pod


def plain(item: dict[str, Any]) -> dict[str, Any]:
    """As the simulator's Go types write it: no kind."""
    return {name: value for name, value in item.items() if name not in ("kind", "apiVersion")}


def export() -> dict[str, Any]:
    return {
        "pods": [plain(pod("web", cpu="1")), {"kind": "", "apiVersion": "", **plain(pod("db"))}],
        "nodes": [plain(node("n1"))],
        "pvs": None,
        "pvcs": [{"metadata": {"name": "data", "namespace": "default"}, "spec": {}}],
        "storageClasses": [{"metadata": {"name": "fast"}, "provisioner": "csi.example.com"}],
        "priorityClasses": [],
        "schedulerConfig": {"kind": "KubeSchedulerConfiguration", "profiles": []},
        "namespaces": [{"metadata": {"name": "default"}}],
    }


def test_an_export_is_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text(json.dumps(export()))
    (tmp_path / "export.yaml").write_text(yaml.safe_dump(export(), sort_keys=False))
    for name in ("export.json", "export.yaml"):
        snapshot = Snapshot.load(tmp_path / name)
        kinds = sorted(str(item["kind"]) for _, item in snapshot.objects())
        assert kinds == [
            "Namespace",
            "Node",
            "PersistentVolumeClaim",
            "Pod",
            "Pod",
            "StorageClass",
        ]
        assert snapshot.problems == ()
        assert len(snapshot.engine().pending()) == 2


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "List", "items": []},
        {"nodes": [], "other": 1},
        {"apiVersion": "v1", "pods": []},
        [],
    ],
)
def test_other_documents_are_left_alone(document: Any) -> None:
    assert export_as_list(json.dumps(document).encode()) is None
    assert export_as_list(b'{"pods": [') is None
