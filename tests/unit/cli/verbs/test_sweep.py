"""`kpolicy sweep` and `kpolicy simulate --scenario` from outside."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kpolicy import cli
from kpolicy.offline.fill.synthetic import write_synthetic
from tests.tree.sources import ROOT
from tests.unit.offline.days.scenarios import NODE, POD, document

Capture = pytest.CaptureFixture[str]
JOURNAL = str(ROOT / "docs" / "guides" / "shop-journal")
KPOLICY = (sys.executable, "-m", "kpolicy")
BUSY = document(
    nodes=[{**NODE, "count": 3}],
    pods=[{**POD, "lifetime": {"exponential": "30m"}}],
    arrivals=[{"pods": "p", "perHour": 8}],
    sampleEvery="30m",
)


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "busy.yaml"
    path.write_text(BUSY)
    return str(path)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_same_seed_gives_the_same_bytes_in_another_process(
    scenario: str, tmp_path: Path
) -> None:
    printed = []
    for hash_seed in ("1", "2"):
        table = tmp_path / f"{hash_seed}.csv"
        to = ["--csv", str(table)]
        done = subprocess.run(
            [*KPOLICY, "simulate", "--scenario", scenario, "--seed", "7", "-o", "json", *to],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        )
        printed.append((done.stdout, table.read_bytes()))
    assert printed[0] == printed[1]
    document, samples = json.loads(printed[0][0]), rows(tmp_path / "1.csv")
    assert len(samples) == len(document["samples"]) == 9
    assert samples[4]["cpu allocation"] == str(
        document["samples"][4]["resources"]["cpu"]["allocation"]
    )
    assert sum(int(row["arrived"]) for row in samples) == document["summary"]["arrived"] > 20


def test_a_sweep_has_a_row_for_each_cell_and_does_not_depend_on_jobs(
    scenario: str, tmp_path: Path, capsys: Capture
) -> None:
    command = ["sweep", "--scenario", scenario, "--policy", "kube-scheduler-default"]
    command += ["--policy", "bin-packing", "--every-pod", "--seeds", "1..2"]
    command += ["--set", "nodes.n.count=2,4"]
    shown = []
    for jobs in ("1", "2"):
        file = str(tmp_path / f"{jobs}.csv")
        assert cli.main([*command, "--jobs", jobs, "--csv", file]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    cells = rows(tmp_path / "1.csv")
    assert [(row["policy"], row["nodes.n.count"], row["seed"]) for row in cells] == [
        (policy, count, seed)
        for policy in ("kube-scheduler-default", "bin-packing")
        for count in "24"
        for seed in "12"
    ]
    # The policies see the same pods.
    assert len({row["arrived"] for row in cells if row["seed"] == "1"}) == 1
    head, *lines = shown[0].splitlines()
    assert head.split()[:2] == ["policy", "nodes.n.count"]
    assert len(lines) == 4
    means = [float(row["pending mean"]) for row in cells[:2]]
    assert f"{sum(means) / 2:.1f} ±" in lines[0]


def test_a_sweep_sets_params_of_policies(scenario: str, tmp_path: Path, capsys: Capture) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: most}\n"
        "spec:\n  profiles: [{schedulerName: kpolicy}]\n  params: {most: {type: int, default: 1}}\n"
        "  predicates:\n"
        "    - {name: most, expression: 'node.pods.size() < params.most', message: full}\n"
    )
    command = ["sweep", "--scenario", scenario, "--policy", str(policy), "--output", "jsonl"]
    assert cli.main([*command, "--set", "params.most=0,1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    placed = [line["figures"]["placed"] for line in lines if "figures" in line]
    assert placed[0] == 0 < placed[1]


def test_policies_fill_the_cluster_of_a_trace(tmp_path: Path, capsys: Capture) -> None:
    write_synthetic(tmp_path)
    command = ["sweep", "--trace", f"openb:{tmp_path}", "--seeds", "1,2", "--jobs", "1"]
    policies = ["gpus-least-fragmentation", str(ROOT / "benches/fill/policies/random.yaml")]
    for policy in policies:
        command += ["--policy", policy]
    assert cli.main([*command, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["cells"]) == 4
    of = {each["policy"]: each["figures"] for each in found["variants"]}
    allocated = [of[policy]["at 100% gpu allocation"]["mean"] for policy in policies]
    assert 1 > allocated[0] > allocated[1] > 0.5
    assert cli.main(command) == 0
    assert "fragments at 100%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate"], "name a cluster with --snapshot, or days with --scenario"),
        (["simulate", "-s", "x", "--csv", "y"], "--csv goes with --scenario"),
        (["simulate", "--scenario", "none.yaml"], "none.yaml cannot be read: No such file"),
        (["simulate", "--scenario", "."], "is a folder without a journal"),
        (["sweep", "--scenario", "SCENARIO", "--set", "nodes.m.count=1"], "KP510: nodes.m.count=1"),
        (["sweep", "--scenario", "SCENARIO", "--set", "nodes.n.count=0"], "KP511: nodes.n.count=0"),
        (["sweep", "--scenario", "SCENARIO", "--seeds", "x"], "`x` is no seed"),
        (["sweep", "--scenario", "SCENARIO", "--set", "duration"], "write NAME=V1,V2"),
        (["sweep", "--scenario", "SCENARIO", "--ray-address", "x"], "goes with --engine ray"),
        (["sweep", "--scenario", JOURNAL, "--set", "duration=1h"], "a journal has no values"),
        (["sweep"], "give --scenario FILE, or --trace openb:DIR"),
        (["sweep", "--trace", "x"], "UnknownTrace: x: no kind of trace that is known"),
        (["sweep", "--trace", "openb:nowhere"], "NotReadable: nowhere"),
    ],
    ids=lambda value: "-".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], message: str, scenario: str, capsys: Capture
) -> None:
    words = [scenario if word == "SCENARIO" else word for word in arguments]
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "bug" not in error


def test_a_scenario_with_errors_is_shown_with_their_places(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(BUSY.replace('"pods": "p"', '"pods": "q"'))
    table = tmp_path / "table.csv"
    assert cli.main(["sweep", "--scenario", str(path), "--csv", str(table)]) == 2
    error = capsys.readouterr().err
    assert "KP510" in error
    assert "wrong.yaml:" in error
    assert not table.exists()


def test_without_ray_a_sweep_says_what_to_install(
    scenario: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert cli.main(["sweep", "--scenario", scenario, "--engine", "ray"]) == 2
    assert "NoRay" in capsys.readouterr().err


def test_ctrl_c_ends_a_sweep_and_its_processes(scenario: str, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("as it was")
    arguments = ["sweep", "--scenario", scenario, "--jobs", "2", "--csv", str(table)]
    arguments += ["--set", "duration=3000d,3001d", "--set", "sampleEvery=1d"]
    running = subprocess.Popen(
        [sys.executable, "-c", _STARTED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    children: list[str] = []
    until = time.monotonic() + 60
    path = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while len(children) < 2 and time.monotonic() < until:
        children = path.read_text().split()
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, error = running.communicate(timeout=60)
    assert running.returncode == 130, error
    assert "Traceback" not in error
    assert table.read_text() == "as it was"
    assert len(children) >= 2
    assert not any(Path(f"/proc/{child}/cmdline").exists() for child in children[1:])


# A test run in the background ignores SIGINT, and so would its children.
_STARTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kpolicy import __main__ as process
if __name__ == "__main__":
    sys.exit(process.main())
"""
