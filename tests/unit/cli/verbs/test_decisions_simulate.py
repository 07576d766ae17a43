"""`kpolicy simulate`: lines, summary, the text of a small case, and bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kpolicy import cli
from kpolicy.testing import node, pod
from tests.conformance import golden
from tests.unit.offline.worlds import POLICY, PREEMPTING, cluster, crowded, listed

TEXT = """\
POD            NODE
default/fits   n2
default/giant  (pending)

1 of 2 pods placed on 4 nodes, 1 pending
1 pod more with a schedulerName that is not served; `--every-pod` includes them

what keeps pods pending
  1  0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, \
2 Insufficient cpu.

resource           allocatable  before         after
cpu                         16       3  18.8%      5  31.2%
ephemeral-storage        400Gi       0   0.0%      0   0.0%
memory                    32Gi     1Gi   3.1%    2Gi   6.2%
pods                       440       1   0.2%      2   0.5%
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed(cluster()))
    (tmp_path / "small.yaml").write_text(POLICY)
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(
        ["simulate", "--snapshot", "cluster.json", "--policy", "small.yaml", *arguments]
    )


def test_the_text_says_where_pods_go_and_what_keeps_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    assert capsys.readouterr() == (TEXT, "")


def test_a_line_a_pod_then_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--output", "jsonl") == 0
    *pods, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert pods[0] == {"pod": "default/fits", "node": "n2"}
    assert set(pods[1]) == {"pod", "message"}
    assert list(summary) == ["summary"]
    assert set(summary["summary"]) == {
        "pods",
        "placed",
        "pending",
        "notServed",
        "nodes",
        "byReason",
        "byRule",
        "utilisation",
    }


def test_victims_are_listed_and_not_evicted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cluster.json").write_text(listed(crowded()))
    (folder / "small.yaml").write_text(PREEMPTING)
    assert run("-o", "jsonl") == 0
    line, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert line == {
        "pod": "default/high",
        "message": "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential "
        "placement for pod on node n2, preempting 2 victims",
        "nominatedNode": "n2",
        "victims": ["default/low3", "default/low2"],
    }
    assert summary["summary"]["utilisation"]["pods"] == {
        "allocatable": 220,
        "before": 3,
        "after": 3,
    }
    assert run() == 0
    assert (
        "default/high  (pending: would go to n2 in place of default/low3, default/low2)\n"
        in capsys.readouterr().out
    )


def test_no_pending_pod_is_a_summary_of_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cluster.json").write_text(listed([node("n")]))
    assert run() == 0
    assert capsys.readouterr().out.startswith("0 of 0 pods placed on ")


def test_a_seed_gives_the_same_placements_each_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node(f"n{number}") for number in range(30)]
    pods = [pod(f"p{number}", cpu="100m") for number in range(30)]
    (folder / "cluster.json").write_text(listed([*nodes, *pods]))
    (folder / "small.yaml").write_text(POLICY.replace("tieBreak: name", "tieBreak: random"))
    outputs = []
    for seed in ("1", "1", "2"):
        assert run("--seed", seed, "-o", "jsonl") == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0] != outputs[2]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--snapshot", "none.json"], 2, "No such file"),
        (["--policy", "bad.yaml"], 1, "KP101"),
        (["--output", "yaml"], 2, "--output"),
    ],
)
def test_bad_input(
    folder: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.yaml").write_text("kind: Nothing\n")
    assert run(*arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_golden_cluster_is_placed_pod_by_pod(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = golden.read("mixed-1")
    (folder / "golden.json.gz").write_bytes(gzip.compress(json.dumps(case.cluster).encode()))
    assert cli.main(["simulate", "--snapshot", "golden.json.gz", "--output", "jsonl"]) == 0
    *pods, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert sorted(pod["pod"] for pod in pods) == sorted(
        expectation["pod"] for expectation in case.expected
    )
    first = next(
        expectation for expectation in case.expected if expectation["pod"] == pods[0]["pod"]
    )
    # The first pod finds the cluster as it was recorded, and goes where kube-scheduler's would.
    assert pods[0].get("node") in (first.get("best") or [None])
    assert summary["summary"]["placed"] == sum("node" in pod for pod in pods)


def test_where_no_pod_is_served_the_nodes_are_counted_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(
        POLICY.replace("schedulerName: kpolicy", "schedulerName: a")
    )
    assert run() == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "0 of 0 pods placed on 4 nodes, 0 pending"
    assert second.startswith("3 pods more with a schedulerName")
