"""The same input gives the same bytes: in another process, and in whatever order it is written."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parents[3] / "conformance/kube-scheduler-1.36"
CHOSEN = sorted(CASES.glob("*.json.gz"))[::33]


def printed(verb: str, snapshot: Path, hash_seed: str) -> bytes:
    command = [sys.executable, "-m", "kpolicy", verb, "--snapshot", str(snapshot)]
    done = subprocess.run(
        [*command, "--seed", "7", "--output", "jsonl"],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout


def written(path: Path, cluster: dict[str, Any]) -> Path:
    path.write_text(json.dumps(cluster))
    return path


def test_there_are_enough_cases() -> None:
    assert len(CHOSEN) == 4


@pytest.mark.slow
@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.name)
def test_placements_and_explanations_are_the_same_bytes(path: Path, tmp_path: Path) -> None:
    cluster = json.loads(gzip.decompress(path.read_bytes()))["cluster"]
    first_file = written(tmp_path / "one.json", cluster)
    reverse = written(tmp_path / "reverse.json", cluster | {"items": cluster["items"][::-1]})
    for verb in ("simulate", "explain"):
        first = printed(verb, first_file, "1")
        assert first.count(b"\n") >= 1
        assert first == printed(verb, first_file, "2"), f"{verb}, in another process"
        assert first == printed(verb, reverse, "3"), f"{verb}, written the other way round"
