"""`kpolicy snapshot info`: the text, the JSON, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy import cli
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import cluster, listed

TEXT = """\
objects   4 Node, 4 Pod
left out  1 ConfigMap (no rule reads these kinds)
nodes     4, 1 unschedulable; 4 v1.37.0
pods      4: 1 on nodes, 3 pending
pending   1 for default-scheduler
pending   2 for kpolicy

resource           allocatable  requested
cpu                         16          3  18.8%
ephemeral-storage        400Gi          0   0.0%
memory                    32Gi        1Gi   3.1%
pods                       440          1   0.2%
"""
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed([*cluster(), CONFIG]))
    return tmp_path


def info(*arguments: str) -> int:
    return cli.main(["snapshot", "info", *arguments])


def test_the_text_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert info("cluster.json") == 0
    out, err = capsys.readouterr()
    size, _, rest = out.partition("\n")
    assert size.startswith("size ")
    assert size.endswith("KiB of JSON")
    assert rest == TEXT
    assert err == ""


def test_json_has_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert info("cluster.json", "--output", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown.pop("version"), shown.pop("kind")) == (1, "snapshot")
    assert shown.pop("bytes") == Path("cluster.json").stat().st_size
    assert shown.pop("resources")["cpu"] == {"allocatable": 16, "requested": 3}
    assert shown == {
        "kinds": {"Node": 4, "Pod": 4},
        "leftOut": {"ConfigMap": 1},
        "nodes": {"total": 4, "unschedulable": 1, "versions": {"v1.37.0": 4}},
        "pods": {
            "total": 4,
            "onNodes": 1,
            "pending": 3,
            "gated": 0,
            "ended": 0,
            "pendingByScheduler": {"default-scheduler": 1, "kpolicy": 2},
        },
        "problems": [],
    }


def test_problems_are_shown_and_are_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gated = pod("gated", scheduling_gates=["g"])
    items = [node("n"), node("n"), {"kind": "Pod", "metadata": {}}, gated]
    (folder / "bad.json").write_text(listed(items)[:-1])
    assert info("bad.json") == 0
    out, err = capsys.readouterr()
    assert "          1 pod of these gated" in out
    assert [line.split(":")[0] for line in err.splitlines()] == ["warning"] * 3
    assert info("bad.json", "-o", "json") == 0
    out, err = capsys.readouterr()
    assert [problem["code"] for problem in json.loads(out)["problems"]] == [
        "NoName",
        "CutShort",
        "Duplicate",
    ]
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.json"], "none.json: cannot be read: No such file"),
        (["empty.json"], "there is no object in empty.json"),
        ([], "required"),
    ],
)
def test_bad_input_is_two(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.json").write_text("")
    assert info(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_verb_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["snapshot"]) == 2
    assert "record|redact|names|merge|from|info" in capsys.readouterr().err
