"""`kpolicy plan`: what it counts, which thresholds fail, and what it says about bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy.cli import main
from kpolicy.testing import node, pod
from tests.unit.journal.journaled_engine import JournaledEngine
from tests.unit.offline.journal_replay.test_other_policy import FENCED as FENCED_N0
from tests.unit.offline.worlds import POLICY, PREEMPTING, listed

Capture = pytest.CaptureFixture[str]

FENCED = POLICY.replace(
    "  priorities",
    "    - name: fence\n      expression: label(node, 'disk') != 'ssd'\n"
    "      message: ssd nodes are kept free\n  priorities",
)
ZONE = "topology.kubernetes.io/zone"
CLUSTER = [
    node("n1", cpu="4", memory="8Gi", labels={"disk": "ssd", ZONE: "a", "price": "1.5"}),
    node("n2", cpu="4", memory="8Gi", labels={ZONE: "b", "price": "4"}),
    pod("big", cpu="3", memory="1Gi", priority=5),
    pod("huge", cpu="3", memory="1Gi"),
    pod("web", cpu="1", memory="1Gi"),
    pod("there", cpu="1", memory="1Gi", node_name="n2"),
    pod("others", cpu="1", scheduler_name="default-scheduler"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed(CLUSTER))
    for name, text in (("old", POLICY), ("fenced", FENCED), ("fenced-n0", FENCED_N0)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(*arguments: str, policies: tuple[str, str] = ("old.yaml", "fenced.yaml")) -> int:
    return main(["plan", *policies, *arguments])


def document(capsys: Capture, *arguments: str, code: int = 0, **options: Any) -> dict[str, Any]:
    assert run("-s", "cluster.json", *arguments, "-o", "json", **options) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: Capture, *arguments: str, **options: Any) -> str:
    assert run(*arguments, **options) == 2
    return capsys.readouterr().err


def test_pods_that_change_are_counted_by_class(capsys: Capture) -> None:
    """Under the old policy n1 holds big and web, n2 huge; under the new one nobody may use n1."""
    made = document(capsys)
    assert made["counts"] == {
        "pods": 3,
        "old": {"placed": 3, "parked": 0, "evicted": 0},
        "new": {"placed": 1, "parked": 2, "evicted": 0},
        "placed": 0,
        "parked": 2,
        "moved": 1,
        "evicted": 0,
        "movedIndirectly": 0,
    }
    by_pod = {change["pod"]: change for change in made["inputs"][0]["changes"]}
    assert by_pod["default/big"] == {
        "pod": "default/big",
        "workload": "default/big",
        "change": "moved",
        "cause": "rules",
        "old": "n1",
        "new": "n2",
        "rule": "fence",
    }
    huge = by_pod["default/huge"]
    assert (huge["change"], huge["cause"], huge["old"]) == ("parked", "indirect", "n2")
    assert "Insufficient cpu" in huge["message"]
    assert made["byRule"] == {"fence": 2}
    big = made["classes"][0]
    assert (big["workload"], big["namespace"], big["priority"]) == ("default/big", "default", 5)


def test_figures_of_nodes(capsys: Capture) -> None:
    made = document(capsys, "--column", "cost=label:price")
    assert made["nodesInUse"] == {"before": 1, "old": 2, "new": 1}
    assert made["columns"]["cost"]["old"] == 5.5
    assert made["columns"]["cost"]["new"] == 4.0
    cpu = made["resources"]["cpu"]
    assert cpu["fullness"] == {"before": 0.125, "old": 1.0, "new": 0.5}
    assert made["spread"][ZONE]["values"]["a"] == {"before": 0, "old": 2, "new": 0}
    (first, second) = made["inputs"][0]["nodes"]
    assert (first["name"], first["zone"], first["columns"]) == ("n1", "a", {"cost": 1.5})
    assert second["resources"]["cpu"] == {"allocatable": 4.0, "before": 1.0, "old": 4.0, "new": 4.0}


def test_all_pods_are_placed_again(capsys: Capture) -> None:
    made = document(capsys, "--all-pods")
    assert made["counts"]["pods"] == 4
    assert made["nodesInUse"]["before"] == 0


def test_thresholds_decide_the_exit_code(capsys: Capture) -> None:
    holding = ("--fail-on", "placed > 0", "--fail-on", "fullness['cpu'].new > 0.9")
    made = document(capsys, *holding)
    assert made["failed"] is False
    failing = ("--fail-on", "parked > 0", "--fail-on", "placed > 0")
    made = document(capsys, *failing, code=1)
    assert [each["isTrue"] for each in made["thresholds"]] == [True, False]
    assert run("-s", "cluster.json", "--fail-on", "parked > 0") == 1
    assert "failed: parked > 0" in capsys.readouterr().out
    by_class = "classes.exists(c, c.namespace == 'default' && c.priority > 0 && c.parked > 0)"
    document(capsys, "--fail-on", by_class)
    document(
        capsys, "--column", "cost=label:price", "--fail-on", "cost.new < 0.8 * cost.old", code=1
    )


def test_several_clusters_and_journals_in_the_order_of_time(folder: Path, capsys: Capture) -> None:
    made = JournaledEngine(folder / "journal")
    made.begin(nodes=2)
    made.place("web-0", "web-1", "web-2")
    made.close()
    (folder / "later.json").write_text(listed(CLUSTER[:3]))
    policies = ("kube-scheduler-default", "fenced-n0.yaml")
    arguments = ("-s", "later.json", "--journal", "journal", "--every-pod")
    plan = document(capsys, *arguments, policies=policies)
    assert [each["name"] for each in plan["inputs"]] == ["journal", "cluster.json", "later.json"]
    assert [each["counts"]["pods"] for each in plan["inputs"]] == [3, 4, 1]
    assert plan["counts"]["pods"] == 8
    journal = plan["inputs"][0]
    assert journal["decisions"] == 3
    assert {change["old"] for change in journal["changes"]} == {"n0"}


def test_the_comment_of_a_pull_request(folder: Path, capsys: Capture) -> None:
    assert run("-s", "cluster.json", "-o", "markdown", "--fail-on", "parked > 0") == 1
    text = capsys.readouterr().out
    assert text.startswith("<!-- kpolicy plan: fenced.yaml -->\n### kpolicy plan: old.yaml → ")
    assert "**2 parked, 1 moved, of 3 pods**" in text
    assert "- **failed**: `parked > 0`" in text
    assert "<details><summary>Pods</summary>" in text
    assert text.count("<details>") == text.count("</details>")
    assert run("-s", "cluster.json", "-o", "markdown=plan.md", "-o", "json=plan.json") == 0
    assert capsys.readouterr().out == ""
    assert (folder / "plan.md").read_text().startswith("<!-- kpolicy plan")
    assert json.loads((folder / "plan.json").read_text())["kind"] == "plan"


def test_names_of_others_are_no_markdown(folder: Path, capsys: Capture) -> None:
    hostile = FENCED.replace("ssd nodes are kept free", "<b>|`@all` [x](http://y)")
    (folder / "fenced.yaml").write_text(hostile)
    (folder / "cluster.json").write_text(listed([CLUSTER[0], pod("web", cpu="1")]))
    assert run("-s", "cluster.json", "-o", "markdown") == 0
    (row,) = (
        line for line in capsys.readouterr().out.splitlines() if "default/web | parked" in line
    )
    assert "\\<b\\>\\|\\`@\u200ball\\` \\[x\\](http://y)" in row


def test_text(capsys: Capture) -> None:
    assert run("-s", "cluster.json") == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "old.yaml → fenced.yaml, over cluster.json\n"
        "2 parked, 1 moved, of 3 pods\n"
        "rules that made changes: fence (2)\n"
    )
    assert "default/big   moved   n1        n2        fence" in text
    assert run("-s", "cluster.json", policies=("old.yaml", "old.yaml")) == 0
    assert "no change in 3 pods" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--snapshot FILE or --journal DIR is needed"),
        (("-s", "missing.json"), "NotReadable: missing.json"),
        (("-s", "old.yaml"), "NoNodes: old.yaml"),
        (("--journal", "missing"), "NotReadable: missing"),
        (("--journal", "old.yaml"), "NotAJournal: old.yaml"),
        (("-s", "cluster.json", "--fail-on", "parkd > 0"), "KP201: --fail-on: parkd > 0"),
        (("-s", "cluster.json", "--fail-on", "parkd > 0"), "did you mean `parked`?"),
        (("-s", "cluster.json", "--fail-on", "old.plced > 0"), "KR102: --fail-on: old.plced > 0"),
        (("-s", "cluster.json", "--fail-on", "old.plced > 0"), "did you mean `placed`?"),
        (("-s", "cluster.json", "--fail-on", "parked"), "KP203: --fail-on: parked: the result is"),
        (("-s", "cluster.json", "--fail-on", "parked >"), "KP110: --fail-on"),
        (("-s", "cluster.json", "--column", "cost=label:prize"), "no node has the label prize"),
        (("-s", "cluster.json", "--column", "cost=label:prize"), "did you mean `price`?"),
        (("-s", "cluster.json", "--column", "cost=label:disk"), "BadColumn: cluster.json"),
        (("-s", "cluster.json", "--column", "cost=prices.csv"), "NotReadable: prices.csv"),
        (("-s", "cluster.json", "--column", "moved=label:price"), "BadColumn: --column"),
        (("-s", "cluster.json", "--column", "cost"), "BadColumn: --column"),
        (("--journal", "x", "--column", "cost=label:price"), "give --snapshot FILE too"),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert message in refused(capsys, *arguments)


def test_a_cluster_without_nodes_and_a_policy_that_does_not_compile(
    folder: Path, capsys: Capture
) -> None:
    (folder / "empty.json").write_text(listed([pod("web")]))
    assert "NoNodes: empty.json: there is no node" in refused(capsys, "-s", "empty.json")
    (folder / "broken.yaml").write_text(POLICY.replace("label(node", "lable(node"))
    message = refused(capsys, "-s", "cluster.json", policies=("old.yaml", "broken.yaml"))
    assert "KP201" in message
    assert "a policy with errors cannot be compared" in message


def test_values_of_a_file(folder: Path, capsys: Capture) -> None:
    (folder / "watts.csv").write_text("node,value\nn1,250\nn2, 1k\n")
    assert document(capsys, "--column", "power=watts.csv")["columns"]["power"]["old"] == 1250
    (folder / "watts.csv").write_text("n1,250\nn2,many\n")
    message = refused(capsys, "-s", "cluster.json", "--column", "power=watts.csv")
    assert "BadColumn: watts.csv:2" in message


def test_a_journal_that_is_cut_off_is_said_and_fails(folder: Path, capsys: Capture) -> None:
    made = JournaledEngine(folder / "journal")
    made.begin(nodes=2)
    made.place("web-0")
    made.close()
    segment = next((folder / "journal").glob("*.kpsnap"))
    segment.write_bytes(segment.read_bytes()[:-10])
    policies = ("kube-scheduler-default", "fenced-n0.yaml")
    assert run("--journal", "journal", "--every-pod", "-o", "markdown", policies=policies) == 1
    printed = capsys.readouterr()
    assert f"warning: CutOff: journal/{segment.name}" in printed.err
    assert "**CutOff**: journal/" in printed.out


def test_pods_that_would_be_evicted_count_in_their_class(folder: Path, capsys: Capture) -> None:
    low = pod("low", cpu="4", node_name="n1", labels={"app": "batch"})
    (folder / "cluster.json").write_text(
        listed([CLUSTER[0], low, pod("high", cpu="4", priority=9)])
    )
    (folder / "preempting.yaml").write_text(PREEMPTING)
    made = document(
        capsys, "--fail-on", "evicted > 0", code=1, policies=("old.yaml", "preempting.yaml")
    )
    (batch,) = (each for each in made["classes"] if each["workload"] == "default/batch")
    assert (batch["pods"], batch["evicted"], batch["new"]["evicted"]) == (0, 1, 1)
    (change,) = made["inputs"][0]["changes"]
    assert (change["pod"], change["change"], change["old"]) == ("default/low", "evicted", "n1")
    assert change["message"] == "for default/high"


def test_one_policy_in_two_releases(capsys: Capture) -> None:
    releases = ("--release", "1.36", "--release", "1.37")
    assert main(["plan", "old.yaml", *releases, "-s", "cluster.json"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("old.yaml 1.36 → old.yaml 1.37, over cluster.json\nno change in 3 pods")
    assert "the old policy decides as Kubernetes 1.36, the new one as 1.37" in text
