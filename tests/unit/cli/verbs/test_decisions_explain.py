"""`kpolicy explain`: JSON lines, the text of a small case, and bad input."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kpolicy import cli
from kpolicy.testing import node, pod
from tests.conformance import golden
from tests.unit.offline.worlds import POLICY, PREEMPTING, cluster, crowded, listed

TEXT = """\
default/fits: fits 1 of 4 nodes; n2 is the best

  rejected nodes, by the first rule that rejects
    1  Insufficient cpu (NodeResourcesFit)                 n1
    1  node(s) had untolerated taint(s) (TaintToleration)  n3
    1  node(s) were unschedulable (NodeUnschedulable)      n4

  scores of 1 node, raw → weighted
    node  total  NodeResourcesFit
    n2       68           68 → 68  selected
    0 on each: prefer-ssd
"""
GIANT = """\
default/giant: fits none of 4 nodes

  rejected nodes, by the first rule that rejects
    2  Insufficient cpu (NodeResourcesFit)                 n1, n2
    1  node(s) had untolerated taint(s) (TaintToleration)  n3
    1  node(s) were unschedulable (NodeUnschedulable)      n4
  also rejected by
    2  Insufficient cpu (NodeResourcesFit)

  0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, \
2 Insufficient cpu.

  tried again when
    a node is added                                    \
NodeUnschedulable, TaintToleration, NodeResourcesFit
    a taint of a node changes, or it takes pods again  \
NodeUnschedulable, TaintToleration, NodeResourcesFit
    a toleration of the pod changes                    NodeUnschedulable, TaintToleration
    what a node can allocate changes                   NodeResourcesFit
    a pod leaves a node                                NodeResourcesFit
    a pod comes to request less                        NodeResourcesFit
"""
CROWDED = """\
default/high: fits none of 2 nodes

  rejected nodes, by the first rule that rejects
    2  Insufficient cpu (NodeResourcesFit)  n1, n2

  preemption would make room on n2
    n1  evicts default/low1
    n2  evicts default/low3, default/low2

  0/2 nodes are available: 2 Insufficient cpu.

  tried again when
    a node is added                                    NodeResourcesFit
    what a node can allocate changes                   NodeResourcesFit
    a taint of a node changes, or it takes pods again  NodeResourcesFit
    a pod leaves a node                                NodeResourcesFit
    a pod comes to request less                        NodeResourcesFit
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed(cluster()))
    (tmp_path / "small.yaml").write_text(POLICY)
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(["explain", "--snapshot", "cluster.json", *arguments])


SMALL = ("--policy", "small.yaml")


@pytest.mark.usefixtures("folder")
class TestOutput:
    def test_the_text_says_who_rejects_and_how_rules_score(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(*SMALL, "--pod", "fits") == 0
        assert capsys.readouterr() == (TEXT, "")
        assert run(*SMALL, "--pod", "default/giant") == 0
        assert capsys.readouterr() == (GIANT, "")

    def test_preemption_is_explained(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "cluster.json").write_text(listed(crowded()))
        (folder / "small.yaml").write_text(PREEMPTING)
        assert run(*SMALL) == 0
        assert capsys.readouterr() == (CROWDED, "")

    def test_without_names_all_pending_pods_and_a_word_about_the_others(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(*SMALL) == 0
        out, err = capsys.readouterr()
        assert [line for line in out.splitlines() if line.startswith("default/")] == [
            "default/fits: fits 1 of 4 nodes; n2 is the best",
            "default/giant: fits none of 4 nodes",
        ]
        assert "1 of default-scheduler; `--every-pod` includes them" in err

    def test_a_namespace_is_asked_for_as_with_kubectl(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(*SMALL, "-n", "default") == 0
        assert "default/fits: fits 1 of 4 nodes" in capsys.readouterr().out
        assert run(*SMALL, "-n", "default", "--pod", "giant", "-o", "jsonl") == 0
        assert json.loads(capsys.readouterr().out)["pod"] == "default/giant"
        assert run(*SMALL, "--namespace", "elsewhere") == 0
        out, err = capsys.readouterr()
        assert (out, "no pod is pending" in err) == ("", True)
        assert run(*SMALL, "-n", "elsewhere", "--pod", "giant") == 2
        assert "elsewhere/giant" in capsys.readouterr().err

    def test_every_pod_is_judged_when_asked_for(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(*SMALL, "--every-pod", "--output", "jsonl") == 0
        out, err = capsys.readouterr()
        assert [json.loads(line)["pod"] for line in out.splitlines()] == [
            "default/fits",
            "default/giant",
            "default/others",
        ]
        assert err == ""

    def test_a_json_line_has_the_shape_of_the_design(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(*SMALL, "--pod", "default/fits", "--output", "jsonl") == 0
        [line] = map(json.loads, capsys.readouterr().out.splitlines())
        assert set(line) == {"pod", "nodes", "best", "selected"}
        shapes = {frozenset(node) for node in line["nodes"]}
        assert shapes == {
            frozenset({"name", "filter", "allFilters"}),
            frozenset({"name", "raw", "weighted", "total"}),
        }
        assert (line["best"], line["selected"]) == (["n2"], "n2")

    def test_top_bounds_the_scored_nodes_shown_and_the_selected_is_among_them(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        nodes = [node(f"n{number}", cpu="4") for number in range(9)]
        (folder / "cluster.json").write_text(listed([*nodes, pod("p", cpu="1")]))
        assert run(*SMALL, "--top", "2", "--pod", "p") == 0
        out = capsys.readouterr().out
        assert "fits 9 of 9 nodes; " in out
        assert "scores of 9 nodes, raw → weighted; the first 2" in out
        assert "selected" in out
        assert len([line for line in out.splitlines() if " → " in line]) in (3, 4)

    def test_extenders_are_not_asked_and_the_text_says_so(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "extended.yaml").write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles: [{schedulerName: kpolicy}]\n"
            "extenders: [{urlPrefix: 'http://127.0.0.1:1/', filterVerb: filter}]\n"
        )
        assert run("--policy", "extended.yaml", "--pod", "fits", "-o", "jsonl") == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["best"] == ["n2"]
        assert err == "note: extenders of the policy are not asked offline\n"

    def test_many_pods_get_a_line_each(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pods = [pod(f"p{number:02}", cpu="1") for number in range(21)]
        (folder / "cluster.json").write_text(listed([node("n"), *pods]))
        assert run(*SMALL) == 0
        out, err = capsys.readouterr()
        assert out.splitlines() == [
            f"default/p{number:02}: fits 1 of 1 node; n is the best" for number in range(21)
        ]
        assert "--pod NS/NAME" in err

    def test_gates_and_no_nodes_are_reported(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        gated = pod("gated", scheduling_gates=["g"])
        (folder / "cluster.json").write_text(listed([gated, pod("p")]))
        assert run(*SMALL) == 0
        out = capsys.readouterr().out
        assert "default/gated: not tried: " in out
        assert "default/p: fits nowhere: there are no nodes" in out
        assert "no nodes available to schedule pods" in out

    def test_no_pending_pod_is_reported(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "cluster.json").write_text(listed([node("n")]))
        assert run(*SMALL) == 0
        out, err = capsys.readouterr()
        assert (out, err) == (
            "",
            "no pod is pending; `--pod NS/NAME` explains a pod that is on a node\n",
        )

    def test_standard_input_and_several_files(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        items = cluster()
        (folder / "nodes.json").write_text(listed(items[:4]))
        command = [
            sys.executable,
            "-m",
            "kpolicy",
            "explain",
            "--policy",
            "small.yaml",
            "-o",
            "jsonl",
        ]
        shown = subprocess.run(
            [*command, "--snapshot", "nodes.json", "-", "--pod", "fits"],
            input=listed(items[4:]),
            capture_output=True,
            text=True,
            check=True,
        )
        assert run(*SMALL, "--pod", "fits", "-o", "jsonl") == 0
        assert shown.stdout == capsys.readouterr().out


@pytest.mark.usefixtures("folder")
class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--snapshot", "none.json"], "none.json: cannot be read: No such file"),
            (["--snapshot", "empty"], "no snapshot file is in this folder"),
            (["--snapshot", "old.kpsnap"], "cut off: the end of the file is missing"),
            (["--snapshot", "strange.json"], "nothing else that a rule reads in strange.json"),
            (["--snapshot", "cluster.json", "--pod", "fist"], "did you mean `default/fits`?"),
            (["--snapshot", "cluster.json", "--pod", "others"], "the policy serves kpolicy"),
            (["--snapshot", "cluster.json", "--top", "0"], "--top"),
            (["--pod", "a"], "--snapshot"),
            (["--snapshot", "cluster.json", "--policy", "none.yaml"], "none.yaml cannot be read"),
            (["--snapshot", "cluster.json", "--policy", "two.yaml", "--every-pod"], "one profile"),
        ],
    )
    def test_what_cannot_work_is_two_and_says_why(
        self, folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "empty").mkdir()
        (folder / "strange.json").write_text('{"kind": "Secret"}')
        (folder / "old.kpsnap").write_bytes(b"")
        (folder / "two.yaml").write_text(
            POLICY.replace(
                "    - schedulerName: kpolicy",
                "    - schedulerName: kpolicy\n    - schedulerName: batch",
            )
        )
        if "--policy" not in arguments:
            arguments = [*arguments, *SMALL]
        assert cli.main(["explain", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
        assert "bug" not in err

    def test_a_bad_policy_is_one_with_its_findings(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "bad.yaml").write_text(POLICY.replace("TaintToleration", "TaintTolerance"))
        assert run("--policy", "bad.yaml") == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "bad.yaml:11:" in err
        assert "TaintToleration" in err
        assert "1 error" in err

    def test_a_text_that_is_cut_short_is_reported_and_the_rest_works(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = listed(cluster())
        (folder / "cluster.json").write_text(text[: text.index('"giant"') + 60])
        assert run(*SMALL, "-o", "jsonl") == 0
        out, err = capsys.readouterr()
        assert [json.loads(line)["pod"] for line in out.splitlines()] == ["default/fits"]
        assert err.startswith("warning: cluster.json: ")
        assert "(items[6])" in err

    def test_many_problems_are_counted(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bad: list[dict[str, Any]] = [{"kind": "Pod", "metadata": {}} for _ in range(30)]
        (folder / "cluster.json").write_text(listed([*cluster(), *bad]))
        assert run(*SMALL, "--pod", "fits") == 0
        err = capsys.readouterr().err.splitlines()
        assert len(err) == 21
        assert err[-1] == "warning: and 10 further problems of the snapshot"


@pytest.mark.parametrize("name", ["nodeaffinity-1", "mixed-1", "gates-1"])
def test_a_golden_cluster_gives_the_answers_of_kube_scheduler(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = golden.read(name)
    path = tmp_path / "cluster.json.gz"
    path.write_bytes(gzip.compress(json.dumps(case.cluster).encode()))
    assert cli.main(["explain", "--snapshot", str(path), "--output", "jsonl"]) == 0
    out, err = capsys.readouterr()
    lines = {line["pod"]: line for line in map(json.loads, out.splitlines())}
    assert err == ""
    assert sorted(lines) == sorted(expectation["pod"] for expectation in case.expected)
    for want in case.expected:
        assert lines[want["pod"]].get("best") == (want.get("best") or None), want["pod"]
    assert cli.main(["explain", "--snapshot", str(path), "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert all(f"{expectation['pod']}: " in text for expectation in case.expected)
