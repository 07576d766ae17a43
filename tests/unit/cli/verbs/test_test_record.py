"""`kpolicy test --record`: a decision about a recorded cluster becomes a test that passes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from kpolicy import cli
from kpolicy.testing import ControlPlane, node, pod
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


def record(file: str, chosen: str, *flags: str) -> int:
    arguments = ["--snapshot", "cluster.kpsnap", "--pod", chosen, *flags]
    return cli.main(["test", "--record", file, *arguments])


def documents(file: str) -> list[Any]:
    return list(yaml.safe_load_all(Path(file).read_text()))


def test_a_recorded_case_passes_and_fails_when_the_policy_changes(
    folder: Path, capsys: Capture
) -> None:
    chosen = pods()[0]
    file = "tests/shop.test.yaml"
    assert record(file, chosen, "--policy", "policy.yaml", "--name", "no disk fits") == 0
    document = yaml.safe_load(Path(file).read_text())
    assert document["policies"] == ["../policy.yaml"]
    assert document["snapshot"] == ["../cluster.kpsnap"]
    (test,) = document["tests"]
    assert (test["name"], test["podFrom"]) == ("no disk fits", {"snapshot": chosen})
    assert test["expect"]["decision"] == "park"
    assert {"rejectedBy": "disk"} in test["expect"]["filters"].values()
    assert cli.main(["test", "tests"]) == 0
    assert cli.main(["fmt", "--check", "tests"]) == 0
    (folder / "policy.yaml").write_text(POLICY.replace("nvme", "hdd").replace("other", "two"))
    assert cli.main(["test", "tests"]) == 1
    printed = capsys.readouterr().out
    assert "1 failed" in printed
    assert "coverage  policy.yaml " in printed


def test_a_second_case_is_added_and_a_case_of_the_same_name_is_not(capsys: Capture) -> None:
    first, second, *_ = pods()
    assert record("cases.test.yaml", first, "--policy", "bin-packing") == 0
    assert (
        record("cases.test.yaml", second, "--policy", "policy.yaml", "--param", "wanted=ssd") == 0
    )
    written = documents("cases.test.yaml")
    assert [len(document["tests"]) for document in written] == [1, 1]
    assert written[0]["policies"] == ["bin-packing"]
    assert written[1]["tests"][0]["params"] == {"wanted": "ssd"}
    assert cli.main(["test", "cases.test.yaml"]) == 0
    assert "2 passed" in capsys.readouterr().out
    assert record("cases.test.yaml", first) == 2
    assert "has a document of this name" in capsys.readouterr().err


def test_what_should_have_been_decided_fails_until_it_is(folder: Path, capsys: Capture) -> None:
    chosen = pods()[0]
    wanted = ["--policy", "policy.yaml", "--expect", "decision=place", "--expect", "errors=[]"]
    assert record("a.test.yaml", chosen, *wanted) == 0
    assert "the test fails until the policy decides as it expects" in capsys.readouterr().err
    (document,) = documents("a.test.yaml")
    assert document["tests"][0]["expect"] == {"decision": "place", "errors": []}
    assert cli.main(["test", "a.test.yaml"]) == 1
    assert "expected decision  place" in capsys.readouterr().out
    (folder / "policy.yaml").write_text(POLICY.replace("==", "!="))
    assert cli.main(["test", "a.test.yaml"]) == 0
    assert record("b.test.yaml", chosen, *wanted) == 0
    assert "fails" not in capsys.readouterr().err
    assert record("c.test.yaml", chosen, "--expect", "nod=worker-1") == 2
    assert "unknown field `nod`" in capsys.readouterr().err
    assert not Path("c.test.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record", "a.test.yaml"], "--record needs --pod NS/NAME, and --snapshot FILE"),
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


async def test_a_pod_of_a_live_cluster_is_recorded_with_the_cluster(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    async with ControlPlane() as plane:
        plane.add(node("n1", labels={"disk": "nvme"}), node("n2"), pod("web"))
        plane.write_kubeconfig(folder / "kubeconfig")
        flags = ["--live", "--kubeconfig", "kubeconfig", "--policy", "policy.yaml", "--pod"]

        async def recorded(name: str) -> int:
            arguments = ["test", "--record", "tests/web.test.yaml", *flags, name]
            return await asyncio.to_thread(cli.main, arguments)

        assert await recorded("default/wbe") == 2
        assert list((folder / "tests").iterdir()) == []
        assert await recorded("default/web") == 0
        assert await recorded("default/web") == 2
    assert "tests/web.kpsnap is there already; give it with --snapshot" in capsys.readouterr().err
    monkeypatch.chdir(folder / "tests")
    (document,) = documents("web.test.yaml")
    assert document["snapshot"] == ["web.kpsnap"]
    assert document["tests"][0]["expect"]["filters"] == {"n2": {"rejectedBy": "disk"}}
    assert cli.main(["test", "."]) == 0
