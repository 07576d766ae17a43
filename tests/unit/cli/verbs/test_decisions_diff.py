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


TEXT = """\
2 of 3 pods would be decided differently
  2  go to another node
placed: 3 by the old policy, 3 by the new
rules that made a difference
  2  fence

pending pods of  pods  placed  parked  moved
default/web         1       1       0      1

resource             allocatable  before        old         new
cpu                           12       1  8.3%    8  66.7%    8  66.7%
memory                      24Gi     1Gi  4.2%  3Gi  12.5%  3Gi  12.5%
pods                         220       1  0.5%    3   1.4%    3   1.4%
nodes without a pod                    1          0           0

default/web: n1 → n2
  fence of the new policy rejects n1: ssd nodes are kept free
default/there: n1 → n2 (on a node)
  fence of the new policy rejects n1: ssd nodes are kept free
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed(CLUSTER))
    for name, text in (("old", POLICY), ("weight", WITHOUT_SCORE), ("fenced", FENCED)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


# What the summary says of the pending pods as a whole.
OVERVIEW = ("workloads", "shares", "fullness", "emptyNodes")


def run(capsys: Capture, *arguments: str) -> tuple[int, list[Any]]:
    code = main(["diff", "-s", "cluster.json", *arguments, "-o", "json"])
    return code, list(map(json.loads, capsys.readouterr().out.splitlines()))


def test_the_same_policy_decides_the_same(capsys: Capture) -> None:
    code, lines = run(capsys, "old.yaml", "old.yaml", "--all-pods")
    assert code == 0
    for key in OVERVIEW:
        lines[-1]["summary"].pop(key)
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
    assert capsys.readouterr().out == TEXT
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


ZONE = "topology.kubernetes.io/zone"


def test_figures_by_workload_and_by_label_come_first(capsys: Capture) -> None:
    owned = pod("web-5d-x", cpu="1", labels={"pod-template-hash": "5d"})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "uid": "u"}
    owned["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    cluster = [
        node("n1", cpu="4", labels={"disk": "ssd", ZONE: "a", "capacity-type": "spot"}),
        node("n2", cpu="2", labels={ZONE: "b"}),
        owned,
        pod("cart-1", cpu="1", labels={"app": "cart"}),
        pod("cart-2", cpu="2", labels={"app": "cart"}),
    ]
    Path("cluster.json").write_text(listed(cluster))
    _, lines = run(capsys, "old.yaml", "fenced.yaml")
    summary = lines[-1]["summary"]
    assert summary["workloads"] == {
        "default/cart": {
            "pods": 2,
            "placed": {"old": 2, "new": 1},
            "parked": {"old": 0, "new": 1},
            "moved": 1,
        },
        "default/web": {
            "pods": 1,
            "placed": {"old": 1, "new": 1},
            "parked": {"old": 0, "new": 0},
            "moved": 1,
        },
    }
    assert summary["shares"] == {
        ZONE: {"a": {"old": 3, "new": 0}, "b": {"old": 0, "new": 2}},
        "capacity-type": {"": {"old": 0, "new": 2}, "spot": {"old": 3, "new": 0}},
    }
    assert summary["fullness"]["cpu"] == {"allocatable": 6, "before": 0, "old": 4, "new": 2}
    assert summary["emptyNodes"] == {"before": 2, "old": 1, "new": 1}
    _, lines = run(capsys, "old.yaml", "fenced.yaml", "--by-label", "disk")
    assert lines[-1]["summary"]["shares"] == {
        "disk": {"": {"old": 0, "new": 2}, "ssd": {"old": 3, "new": 0}}
    }
    main(["diff", "-s", "cluster.json", "old.yaml", "fenced.yaml"])
    text = capsys.readouterr().out
    order = ("decided differently", "pending pods of", f"{ZONE}=a", "resource", "default/cart-1: ")
    assert sorted(order, key=text.index) == list(order)


def test_names_that_are_matched_are_one_scheduler(capsys: Capture) -> None:
    renamed = POLICY.replace("schedulerName: kpolicy", "schedulerName: default-scheduler")
    Path("renamed.yaml").write_text(renamed)
    assert main(["diff", "-s", "cluster.json", "old.yaml", "renamed.yaml"]) == 1
    out, err = capsys.readouterr()
    assert "2  are served by the old policy only" in out
    assert "`--map kpolicy=default-scheduler`" in err
    for written in ("default-scheduler=kpolicy", "kpolicy=default-scheduler"):
        code, lines = run(capsys, "old.yaml", "renamed.yaml", "--map", written)
        assert (code, lines[-1]["summary"]["pods"]) == (0, 3)
    assert main(["diff", "-s", "cluster.json", "old.yaml", "old.yaml", "--map", "a=b"]) == 2
    assert "--map a=b: the policies serve kpolicy" in capsys.readouterr().err
    assert main(["diff", "-s", "cluster.json", "old.yaml", "old.yaml", "--map", "a"]) == 2


def test_a_converted_configuration_of_another_name_decides_the_same(capsys: Capture) -> None:
    Path("config.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    assert main(["convert", "config.yaml"]) == 0
    Path("converted.yaml").write_text(capsys.readouterr().out)
    matched = ["kube-scheduler-default", "converted.yaml", "--map", "default-scheduler=kpolicy"]
    assert main(["diff", "-s", "cluster.json", *matched, "--all-pods"]) == 0
    assert capsys.readouterr().out.startswith("0 of 4 pods would be decided differently\n")


def test_volumes_that_a_placement_reserves_are_free_while_it_is_explained(capsys: Capture) -> None:
    """The claim of the pod is bound nowhere yet; either node would do."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "c"},
        "spec": {
            "storageClassName": "late",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk", "uid": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
        },
        "status": {"phase": "Available"},
    }
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    asking = pod("web", cpu="1")
    asking["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    Path("cluster.json").write_text(
        listed([CLUSTER[0], CLUSTER[1], claim, volume, storage_class, asking])
    )
    bound = POLICY.replace(
        "    - builtin: NodeResourcesFit\n  priorities",
        "    - builtin: NodeResourcesFit\n    - builtin: VolumeBinding\n  priorities",
    )
    Path("old.yaml").write_text(bound)
    Path("fenced.yaml").write_text(
        FENCED.replace("    - name: fence", "    - builtin: VolumeBinding\n    - name: fence")
    )
    _, lines = run(capsys, "old.yaml", "fenced.yaml")
    assert [line["kind"] for line in lines[:-1]] == ["moved"]
    assert lines[0]["why"]["rule"] == "fence"
