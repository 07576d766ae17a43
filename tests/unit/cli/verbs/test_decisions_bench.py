"""`kpolicy bench`: the line that others rely on, the table, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy import cli
from kpolicy.offline.bench.workloads import WORKLOADS
from tests.unit.offline.worlds import POLICY

SMALL = ("--nodes", "20", "--existing", "20", "--pods", "100")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(POLICY)
    return tmp_path


def test_the_line_has_exactly_the_keys_of_the_design(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "--workload", "basic", *SMALL, "--policy", "small.yaml", "-o", "jsonl"]
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    [line] = map(json.loads, out.splitlines())
    assert list(line) == [
        "workload",
        "nodes",
        "existing",
        "pods",
        "scheduled",
        "seconds",
        "podsPerSecond",
        "p50us",
        "p99us",
    ]
    assert [line[key] for key in list(line)[:5]] == ["basic", 20, 20, 100, 100]
    assert err == ""


@pytest.mark.parametrize(
    "workload",
    [
        "basic",
        "mixed",
        "nodeaffinity",
        "spread",
        "antiaffinity",
        "affinity",
        "prefaffinity",
        "volumes",
    ],
)
def test_all_pods_of_a_workload_find_a_place_by_default(
    workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--workload", workload, *SMALL, "--output", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["scheduled"] == 100


def test_each_number_of_threads_gets_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "-w", "basic", *SMALL, "--threads", "1,2,4"]
    assert cli.main([*arguments, "--output", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["threads"], line["scheduled"]) for line in lines] == [
        (1, 100),
        (2, 100),
        (4, 100),
    ]
    assert cli.main(arguments) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in (heading, *rows)] == ["threads", "1", "2", "4"]


@pytest.mark.parametrize("workload", ["preemption", "unschedulable"])
def test_no_pod_of_a_workload_without_room_is_placed(
    workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--workload", workload, *SMALL, "--output", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["scheduled"] == 0


def test_the_table_has_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "-w", "mixed", *SMALL, "--policy", "small.yaml"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:5] == ["workload", "nodes", "existing", "pods", "scheduled"]
    assert row.split()[:5] == ["mixed", "20", "20", "100", "100"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--workload", "basik"], 2, "did you mean `basic`?"),
        (["--workload", "quux"], 2, "one of basic, mixed"),
        ([], 2, "--workload"),
        (["--workload", "basic", "--nodes", "0"], 2, "from 1 to 1,000,000"),
        (["--workload", "basic", "--pods", "x"], 2, "number"),
        (["--workload", "basic", "--threads", "1,0"], 2, "from 1 to 256"),
        (["--workload", "basic", "--threads", "-1"], 2, "--threads"),
        (["--workload", "basic", "--threads", "257"], 2, "from 1 to 256"),
        (["--workload", "basic", "--threads", "1,x"], 2, "`x` is not a whole number from 1 to 256"),
        (["--workload", "basic", "--policy", "bad.yaml"], 1, "KP101"),
    ],
)
def test_bad_input(
    folder: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.yaml").write_text("kind: Nothing\n")
    assert cli.main(["bench", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_the_help_names_every_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in WORKLOADS)
