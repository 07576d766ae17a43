"""`kpolicy diff`: which pods are decided otherwise, by which rule, and what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy.cli import main
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import POLICY, listed

Capture = pytest.CaptureFixture[str]

WITHOUT_SCORE = POLICY.replace("weight: 2", "weight: 0")
FENCED = POLICY.replace(
    "    - builtin: NodeResourcesFit\n  priorities",
    "    - builtin: NodeResourcesFit\n    - name: fence\n"
    "      expression: label(node, 'disk') != 'ssd'\n      message: ssd nodes are kept free\n"
    "  priorities",
)
CLUSTER = [
    node("n1", cpu="4", memory="8Gi", labels={"disk": "ssd"}),
    node("n2", cpu="8", memory="16Gi"),
    pod("big", cpu="6", memory="1Gi"),
    pod("web", cpu="1", memory="1Gi"),
    pod("there", cpu="1", memory="1Gi", node_name="n1"),
    pod("others", cpu="1", scheduler_name="default-scheduler"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed(CLUSTER))
    for name, text in (("old", POLICY), ("weight", WITHOUT_SCORE), ("fenced", FENCED)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(capsys: Capture, *arguments: str) -> tuple[int, list[Any]]:
    code = main(["diff", "-s", "cluster.json", *arguments, "-o", "jsonl"])
    return code, list(map(json.loads, capsys.readouterr().out.splitlines()))


def test_the_same_policy_decides_the_same(capsys: Capture) -> None:
    code, lines = run(capsys, "old.yaml", "old.yaml", "--all-pods")
    assert code == 0
    assert lines == [
        {
            "summary": {
                "pods": 3,
                "differ": 0,
                "moved": 0,
                "placedByOld": 0,
                "placedByNew": 0,
                "servedByOld": 0,
                "servedByNew": 0,
                "old": {"placed": 3},
                "new": {"placed": 3},
                "byRule": {},
            }
        }
    ]


def test_a_filter_that_made_the_difference_is_named(capsys: Capture) -> None:
    code, (web, summary) = run(capsys, "old.yaml", "fenced.yaml")
    assert code == 1
    assert web == {
        "pod": "default/web",
        "kind": "moved",
        "old": {"node": "n1"},
        "new": {"node": "n2"},
        "why": {
            "kind": "rejected",
            "by": "new",
            "rule": "fence",
            "node": "n1",
            "reasons": ["ssd nodes are kept free"],
        },
    }
    assert summary["summary"]["byRule"] == {"fence": 1}
    _, (web, _) = run(capsys, "fenced.yaml", "old.yaml")
    assert (web["why"]["by"], web["why"]["node"]) == ("old", "n1")


def test_scores_that_made_the_difference_are_shown(capsys: Capture) -> None:
    (Path("cluster.json")).write_text(listed([CLUSTER[0], CLUSTER[1], CLUSTER[3]]))
    code, (web, _) = run(capsys, "old.yaml", "weight.yaml")
    assert (code, web["kind"], web["why"]["kind"]) == (1, "moved", "scores")
    assert web["why"]["rules"] == [
        {"rule": "prefer-ssd", "shift": 200, "old": {"n1": 200, "n2": 0}, "new": {}}
    ]


def test_a_pod_that_only_one_places_or_serves(capsys: Capture) -> None:
    Path("cluster.json").write_text(listed([CLUSTER[0], *CLUSTER[3:]]))
    _, (web, summary) = run(capsys, "old.yaml", "fenced.yaml")
    assert (web["kind"], set(web["new"])) == ("placedByOld", {"message"})
    assert web["why"]["rule"] == "fence"
    assert summary["summary"]["placedByOld"] == 1
    renamed = POLICY.replace("schedulerName: kpolicy", "schedulerName: default-scheduler")
    Path("renamed.yaml").write_text(renamed)
    _, lines = run(capsys, "old.yaml", "renamed.yaml")
    assert {(line["pod"], line["kind"]) for line in lines[:-1]} == {
        ("default/web", "servedByOld"),
        ("default/others", "servedByNew"),
    }


def test_pods_on_nodes_are_judged_again(capsys: Capture) -> None:
    _, lines = run(capsys, "old.yaml", "fenced.yaml", "--all-pods")
    [there] = [line for line in lines[:-1] if line["pod"] == "default/there"]
    assert (there["onNode"], there["old"], there["new"]) == (True, {"node": "n1"}, {"node": "n2"})
    assert there["why"]["rule"] == "fence"
    assert lines[-1]["summary"]["pods"] == 3


def test_text(capsys: Capture) -> None:
    assert main(["diff", "-s", "cluster.json", "old.yaml", "fenced.yaml", "--all-pods"]) == 1
    assert capsys.readouterr().out == (
        "default/web: n1 → n2\n"
        "  fence of the new policy rejects n1: ssd nodes are kept free\n"
        "default/there: n1 → n2 (on a node)\n"
        "  fence of the new policy rejects n1: ssd nodes are kept free\n"
        "\n"
        "2 of 3 pods would be decided differently\n"
        "  2  go to another node\n"
        "placed: 3 by the old policy, 3 by the new\n"
        "rules that made a difference\n"
        "  2  fence\n"
    )
    assert main(["diff", "-s", "cluster.json", "old.yaml", "old.yaml"]) == 0
    assert capsys.readouterr().out.startswith("0 of 2 pods would be decided differently\n")


def test_what_earlier_pods_took_is_the_reason_of_later_ones(capsys: Capture) -> None:
    """`late` finds n1 taken only where the new policy sent `early` there."""
    cluster = [
        node("n1", cpu="2"),
        node("n2", cpu="2", labels={"disk": "ssd"}),
        pod("early", cpu="2", priority=2),
        pod("late", cpu="1", priority=1),
    ]
    Path("cluster.json").write_text(listed(cluster))
    code, lines = run(capsys, "old.yaml", "fenced.yaml")
    assert code == 1
    assert [(line["pod"], line["kind"]) for line in lines[:-1]] == [
        ("default/early", "moved"),
        ("default/late", "placedByOld"),
    ]
    why = lines[1]["why"]
    assert (why["rule"], why["reasons"]) == ("NodeResourcesFit", ["Insufficient cpu"])


def test_policies_of_ours_and_bad_input(capsys: Capture) -> None:
    arguments = ["diff", "-s", "cluster.json", "kube-scheduler-default", "old.yaml", "--every-pod"]
    assert main(arguments) in (0, 1)
    capsys.readouterr()
    Path("bad.yaml").write_text("kind: Nothing\n")
    assert main(["diff", "-s", "cluster.json", "old.yaml", "bad.yaml"]) == 2
    assert "KP101" in capsys.readouterr().err
    assert main(["diff", "old.yaml", "old.yaml"]) == 2
    assert main(["diff", "-s", "none.json", "old.yaml", "old.yaml"]) == 2
