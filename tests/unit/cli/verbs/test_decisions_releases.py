"""`--release` and `--feature-gates` of the verbs that decide: what they change, and bad values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Origin, write_snapshot
from kpolicy.cli import VERBS, load_verb, main
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import listed

Capture = pytest.CaptureFixture[str]

# The verbs that decide, those that check or name what is decided, and one that reads legacy files.
DECIDING = (
    "bench",
    "convert",
    "diff",
    "explain",
    "hash",
    "lint",
    "plan",
    "replay",
    "run",
    "simulate",
    "sweep",
    "test",
    "why",
)
# What the verbs need besides, so that only the flag is wrong.
NEEDED = {
    "bench": ("-w", "basic"),
    "why": ("web",),
    "diff": ("-s", "cluster.json"),
    "replay": ("journal",),
    "sweep": ("--scenario", "days.yaml"),
}
BALANCE = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: balance}
spec:
  profiles: [{schedulerName: kpolicy}]
  base: none
  tieBreak: name
  predicates: [{builtin: VolumeBinding}, {builtin: TaintToleration}]
  priorities:
    - {builtin: NodeResourcesBalancedAllocation, weight: 1}
    - {builtin: VolumeBinding, weight: 1}
"""
# Node b is better balanced with the pod, and a becomes more balanced by it.
UNEVEN = [
    node("a", cpu="10", memory="10Gi"),
    node("b", cpu="10", memory="10Gi"),
    pod("there", cpu="6", memory="1Gi", node_name="a"),
    pod("web", cpu="2", memory="4Gi"),
]


def volume(name: str, size: str, on: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "host", "operator": "In", "values": [on]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
        "status": {"phase": "Available"},
    }


def recorded(file: Path, version: str) -> None:
    assert write_snapshot(str(file), UNEVEN, Origin(cluster_version=version)) == []


def with_claim() -> list[dict[str, Any]]:
    """A pod whose claim fits a volume on each node: a's would be full, and b's nearly empty."""
    waiting = pod("data", cpu="1", memory="1Gi")
    claim = {"persistentVolumeClaim": {"claimName": "data"}}
    waiting["spec"]["volumes"] = [{"name": "data", **claim}]
    return [
        *(node(name, cpu="10", memory="10Gi", labels={"host": name}) for name in "ab"),
        volume("small", "1Gi", "a"),
        volume("large", "9Gi", "b"),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default", "uid": "claim"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
        waiting,
    ]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(listed(UNEVEN))
    (tmp_path / "claims.json").write_text(listed(with_claim()))
    (tmp_path / "balance.yaml").write_text(BALANCE)
    return tmp_path


def test_every_verb_that_decides_is_looked_at() -> None:
    having = [
        name
        for name in VERBS
        if any("--release" in argument.names for argument in load_verb(name).arguments)
    ]
    assert sorted(having) == list(DECIDING)


@pytest.mark.parametrize("verb", DECIDING)
@pytest.mark.parametrize("written", ["newest", "1.x", "1.36.2-gke.1"])
def test_a_bad_release_gets_a_coded_message(capsys: Capture, verb: str, written: str) -> None:
    assert main([verb, *NEEDED.get(verb, ()), "--release", written]) == 2
    message = capsys.readouterr().err
    assert f"--release: KP609: `{written}` is neither `auto` nor a release" in message


@pytest.mark.parametrize("verb", [verb for verb in DECIDING if verb != "convert"])
def test_bad_gates_get_a_coded_message(capsys: Capture, verb: str) -> None:
    flags = ("--feature-gates", "VolumeLimitScaling=perhaps")
    assert main([verb, *NEEDED.get(verb, ()), *flags]) == 2
    message = capsys.readouterr().err
    assert "--feature-gates: KP610: `VolumeLimitScaling=perhaps` is not" in message


def selected(capsys: Capture, *arguments: str, verb: str = "explain") -> str:
    assert main([verb, "--policy", "balance.yaml", *arguments, "-o", "jsonl"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    return str(first["selected" if verb == "explain" else "node"])


@pytest.mark.parametrize("verb", ["explain", "simulate"])
def test_a_release_decides(capsys: Capture, verb: str) -> None:
    by_release = [
        selected(capsys, "-s", "cluster.json", "--release", release, verb=verb)
        for release in ("1.34", "1.35", "1.36", "1.37", "auto")
    ]
    assert by_release == ["b", "b", "a", "a", "a"]


def test_a_snapshot_is_decided_as_the_release_it_was_recorded_of(
    capsys: Capture, folder: Path
) -> None:
    for version, node_name in (("v1.35.4", "b"), ("v1.36.2", "a")):
        recorded(folder / "cluster.kpsnap", version)
        assert selected(capsys, "-s", "cluster.kpsnap") == node_name
    assert selected(capsys, "-s", "cluster.kpsnap", "--release", "1.34") == "b"


def test_an_unknown_newer_release_is_said(capsys: Capture, folder: Path) -> None:
    recorded(folder / "cluster.kpsnap", "v1.99.1")
    main(["explain", "--policy", "balance.yaml", "-s", "cluster.kpsnap"])
    assert "kpolicy does not follow Kubernetes v1.99.1; it decides as 1.37 does" in (
        capsys.readouterr().err
    )


def test_an_upgrade_is_compared(capsys: Capture) -> None:
    pair = ("--release", "1.36", "--release", "1.37")
    assert main(["diff", "balance.yaml", "-s", "claims.json", *pair, "-o", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    [change] = document["differences"]
    assert change["pod"] == "default/data"
    assert (change["old"]["node"], change["new"]["node"]) == ("a", "b")
    assert change["why"]["rules"][0]["rule"] == "VolumeBinding"
    assert document["summary"]["new"] == {"placed": 1, "release": "1.37"}
    assert main(["diff", "balance.yaml", "-s", "cluster.json", *pair]) == 0
    text = capsys.readouterr().out
    assert text.startswith("the old policy decides as Kubernetes 1.36, the new one as 1.37\n")
    # Without a policy, it is about kube-scheduler.
    assert main(["diff", "-s", "cluster.json", *pair]) == 0
    older = ("--release", "1.35", "--release", "1.36")
    assert main(["diff", "balance.yaml", "-s", "cluster.json", *older]) == 1


def test_one_policy_needs_two_releases(capsys: Capture) -> None:
    assert main(["diff", "balance.yaml", "-s", "cluster.json"]) == 2
    assert "name two policies, or two releases" in capsys.readouterr().err
    three = ["--release", "1.35"] * 3
    assert main(["diff", "balance.yaml", "-s", "cluster.json", *three]) == 2


def test_a_gate_decides(capsys: Capture) -> None:
    on = ("--feature-gates", "StorageCapacityScoring=true")
    claims = ("-s", "claims.json", "--release", "1.36")
    assert selected(capsys, *claims) == "a"
    assert selected(capsys, *claims, *on) == "b"
    off = ("--feature-gates", "StorageCapacityScoring=false")
    assert selected(capsys, "-s", "claims.json", "--release", "1.37", *off) == "a"


def test_tolerations_compare_numbers_with_their_gate(capsys: Capture, folder: Path) -> None:
    taint = {"key": "sla", "value": "950", "effect": "NoSchedule"}
    waiting = pod("web", cpu="1", memory="1Gi")
    waiting["spec"]["tolerations"] = [{"key": "sla", "operator": "Gt", "value": "900"}]
    tainted = node("a", cpu="10", memory="10Gi")
    tainted["spec"]["taints"] = [taint]
    (folder / "tainted.json").write_text(listed([tainted, waiting]))
    on = ("--feature-gates", "TaintTolerationComparisonOperators=true")

    def fits(*arguments: str) -> bool:
        flags = ("--policy", "balance.yaml", "-s", "tainted.json", "-o", "jsonl")
        main(["explain", *flags, *arguments])
        return "selected" in json.loads(capsys.readouterr().out)

    assert [fits(), fits(*on), fits("--release", "1.35", *on)] == [False, True, True]


def test_a_gate_that_no_rule_depends_on_is_refused_by_name(capsys: Capture) -> None:
    gates = ("--feature-gates", "GenericWorkload=true")
    assert main(["explain", "--policy", "balance.yaml", "-s", "cluster.json", *gates]) == 1
    message = capsys.readouterr().err
    assert "KP610" in message
    assert "GenericWorkload" in message


@pytest.mark.parametrize(
    ("release", "before"),
    [("1.36", "no new claims to deallocate, preemption: "), ("1.37", "preemption: ")],
)
def test_a_full_message_has_the_part_of_preemption(
    capsys: Capture, folder: Path, release: str, before: str
) -> None:
    (folder / "full.json").write_text(listed([node("a", cpu="1"), pod("big", cpu="6")]))
    assert main(["explain", "-s", "full.json", "--release", release, "-o", "json"]) == 0
    [line] = json.loads(capsys.readouterr().out)["explanations"]
    reasons = "0/1 nodes are available: 1 Insufficient cpu."
    why = "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert line["message"] == reasons
    assert line["fullMessage"] == f"{reasons} {before}{why}"


@pytest.mark.parametrize(
    ("release", "part"),
    [
        ("1.36", ""),
        (
            "1.37",
            " preemption: found a potential placement for pod on node a, preempting 1 victims",
        ),
    ],
)
def test_a_full_message_says_where_preemption_makes_room_as_the_release_does(
    capsys: Capture, folder: Path, release: str, part: str
) -> None:
    high = pod("high", cpu="1")
    high["spec"]["priority"] = 100
    items = [node("a", cpu="2"), pod("low", cpu="2", node_name="a"), high]
    (folder / "full.json").write_text(listed(items))
    assert main(["explain", "-s", "full.json", "--release", release, "-o", "json"]) == 0
    [line] = json.loads(capsys.readouterr().out)["explanations"]
    assert line["preemption"]["node"] == "a"
    assert line["fullMessage"] == f"0/1 nodes are available: 1 Insufficient cpu.{part}"


def test_a_recorded_test_holds_in_the_release_of_its_snapshot(
    capsys: Capture, folder: Path
) -> None:
    recorded(folder / "cluster.kpsnap", "v1.35.4")
    what = ("--snapshot", "cluster.kpsnap", "--pod", "default/web", "--policy", "balance.yaml")
    assert main(["test", "--record", "web.test.yaml", *what]) == 0
    assert main(["test", "web.test.yaml"]) == 0
    assert main(["test", "web.test.yaml", "--release", "1.36"]) == 1
    assert "node" in capsys.readouterr().out


def test_the_hash_is_that_of_a_run_with_the_same_flags(capsys: Capture) -> None:
    def hashed(*flags: str) -> str:
        assert main(["hash", "balance.yaml", *flags]) == 0
        return capsys.readouterr().out

    gate = ("--feature-gates", "VolumeLimitScaling=false")
    assert len({hashed(), hashed("--release", "1.36"), hashed(*gate)}) == 3
    assert hashed("--release", "auto") == hashed()
