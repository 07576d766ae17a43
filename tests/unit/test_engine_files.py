"""Files of objects mean the same in YAML and JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kpolicy.engine import Engine, PodChange

FOLDER = Path(__file__).parents[1] / "conformance" / "kube-scheduler-1.36"
CASES = sorted(FOLDER.glob("*-1.json.gz"))


def cluster(path: Path) -> dict[str, Any]:
    with gzip.open(path) as stream:
        cluster: dict[str, Any] = json.load(stream)["cluster"]
    return cluster


def loaded(body: bytes) -> tuple[list[PodChange], bytes]:
    engine = Engine()
    assert engine.load_objects(body, "file") == []
    return engine.pending(), engine.statistics()


def test_there_are_cases() -> None:
    assert len(CASES) == 11


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_yaml_and_json_say_the_same(path: Path) -> None:
    objects = cluster(path)
    from_json = loaded(json.dumps(objects).encode())
    assert len(from_json[0]) > 0
    assert loaded(yaml.safe_dump(objects).encode()) == from_json
    assert loaded(yaml.safe_dump_all(objects["items"], explicit_start=True).encode()) == from_json
    flow = yaml.safe_dump(objects, default_flow_style=True, explicit_start=True)
    assert loaded(flow.encode()) == from_json
    assert loaded("\n".join(map(json.dumps, objects["items"])).encode()) == from_json


def test_bytes_of_other_encodings_cost_the_file_only() -> None:
    engine = Engine()
    body = "kind: Pod\nmetadata: {name: a}\n"
    assert engine.load_objects(b"\xef\xbb\xbf" + body.encode(), "bom") == []
    assert engine.load_objects(body.encode("utf-16"), "utf-16")[0].object.startswith("utf-16: ")
    assert [change.name for change in engine.pending()] == ["a"]
