"""`kpolicy test --record`: a decision about a recorded cluster becomes a test that passes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kpolicy import cli
from tests.tree.sources import ROOT

Capture = pytest.CaptureFixture[str]
SNAPSHOT = ROOT / "docs" / "guides" / "shop.kpsnap"
POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: none-fit}
spec:
  profiles: [{schedulerName: kpolicy}]
  base: none
  params: {wanted: {type: string, default: nvme}}
  predicates:
    - name: disk
      expression: label(node, 'disk') == params.wanted
      message: node(s) of other disks
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "cluster.kpsnap").write_bytes(SNAPSHOT.read_bytes())
    (tmp_path / "tests").mkdir()
    return tmp_path


def pods() -> list[str]:
    from kpolicy import Snapshot
    from kpolicy.offline.answers.pod_decisions import PolicyOnSnapshot

    snapshot = Snapshot.load(["cluster.kpsnap"])
    pending = PolicyOnSnapshot(snapshot).engine.pending()
    return [f"{pod.namespace}/{pod.name}" for pod in pending]


def record(file: str, pod: str, *flags: str) -> int:
    arguments = ["--snapshot", "cluster.kpsnap", "--pod", pod, *flags]
    return cli.main(["test", "--record", file, *arguments])


def test_a_recorded_case_passes_and_fails_when_the_policy_changes(
    folder: Path, capsys: Capture
) -> None:
    pod = pods()[0]
    file = "tests/shop.test.yaml"
    assert record(file, pod, "--policy", "policy.yaml", "--name", "no disk fits") == 0
    document = yaml.safe_load(Path(file).read_text())
    assert document["policies"] == ["../policy.yaml"]
    assert document["snapshot"] == ["../cluster.kpsnap"]
    (test,) = document["tests"]
    assert (test["name"], test["podFrom"]) == ("no disk fits", {"snapshot": pod})
    assert test["expect"]["decision"] == "park"
    assert {"rejectedBy": "disk"} in test["expect"]["filters"].values()
    assert cli.main(["test", "tests"]) == 0
    assert cli.main(["fmt", "--check", "tests"]) == 0
    (folder / "policy.yaml").write_text(POLICY.replace("nvme", "hdd").replace("other", "two"))
    assert cli.main(["test", "tests"]) == 1
    assert "1 failed" in capsys.readouterr().out


def test_a_second_case_is_added_and_a_case_of_the_same_name_is_not(capsys: Capture) -> None:
    first, second, *_ = pods()
    assert record("cases.test.yaml", first, "--policy", "bin-packing") == 0
    assert (
        record("cases.test.yaml", second, "--policy", "policy.yaml", "--param", "wanted=ssd") == 0
    )
    documents = list(yaml.safe_load_all(Path("cases.test.yaml").read_text()))
    assert [len(document["tests"]) for document in documents] == [1, 1]
    assert documents[0]["policies"] == ["bin-packing"]
    assert documents[1]["tests"][0]["params"] == {"wanted": "ssd"}
    assert cli.main(["test", "cases.test.yaml"]) == 0
    assert "2 passed" in capsys.readouterr().out
    assert record("cases.test.yaml", first) == 2
    assert "has a document of this name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record", "a.test.yaml"], "--record needs --snapshot FILE and --pod NS/NAME"),
        (["--pod", "a/b"], "go with --record FILE"),
        (
            ["--record", "a.test.yaml", "--snapshot", "cluster.kpsnap", "--pod", "a/b"],
            "a/b",
        ),
        (
            ["--record", "a.test.yaml", "--snapshot", "-", "--pod", "a/b"],
            "none of them can be standard input",
        ),
    ],
)
def test_what_cannot_be_recorded_writes_nothing(
    arguments: list[str], message: str, capsys: Capture
) -> None:
    assert cli.main(["test", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("a.test.yaml").exists()
