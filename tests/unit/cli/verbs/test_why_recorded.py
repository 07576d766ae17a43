"""`kpolicy why` of what was recorded: pods of a snapshot and of a journal's moment, and whole
namespaces and groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.cli import main
from kpolicy.cli.output_schema import output_schema
from kpolicy.testing import node, pod
from tests.unit.cli.test_cli_manners import problems
from tests.unit.journal.journaled_engine import JournaledEngine, lines, pending
from tests.unit.offline.answers.test_pod_decisions_devices import (
    CLASS,
    asked,
    asking,
    claim,
    node_with,
)
from tests.unit.policy.policies import policy

Capture = pytest.CaptureFixture[str]
GROUP = "scheduling.x-k8s.io/pod-group"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(*objects: dict[str, Any], name: str = "cluster.json") -> str:
    Path(name).write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    return name


def shop(*more: dict[str, Any]) -> str:
    """One pod that fits nowhere, one that fits, and one on a node."""
    search = pod("search", "shop", cpu="6")
    search["spec"]["nodeSelector"] = {"disk": "ssd"}
    return snapshot(
        node("n1", cpu="4", labels={"disk": "ssd"}),
        node("n2", cpu="8"),
        search,
        pod("new", "shop", cpu="1"),
        pod("cart", "shop", cpu="1", node_name="n2"),
        *more,
    )


def why(capsys: Capture, *arguments: str, code: int = 0) -> str:
    assert main(["why", *arguments]) == code, capsys.readouterr()
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    """As JSON, which is as the published schema says."""
    shown: dict[str, Any] = json.loads(why(capsys, *arguments, "-o", "json"))
    schemas = output_schema()["oneOf"]
    (schema,) = (each for each in schemas if each["properties"]["kind"]["const"] == shown["kind"])
    assert problems(shown, schema) == []
    return shown


def test_a_pod_that_a_hold_keeps_is_told_of_the_hold_and_what_it_waits_for(capsys: Capture) -> None:
    hold = "{name: quota, when: 'true', messageExpression: \"'no cpu is left'\", reason: Quota}"
    Path("held.yaml").write_text(policy(f"queue: {{holds: [{hold}]}}", base=""))
    text = why(capsys, "shop/new", "-s", shop(), "--policy", "held.yaml")
    assert text.startswith("shop/new is pending, and is not tried: no cpu is left (quota)\n")
    assert "gates" not in text
    assert "tried again when" in text


def test_a_pod_whose_claim_is_not_there_is_told_so(capsys: Capture) -> None:
    claiming = pod("claiming", "shop", cpu="1")
    claiming["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    text = why(capsys, "shop/claiming", "-s", shop(claiming))
    assert text.startswith(
        "shop/claiming is pending, and is not tried: "
        'could not find ResourceClaim "shop/gpu" (DynamicResources)\n'
    )
    assert "a ResourceClaim is added" in text


def test_a_resource_behind_which_a_device_class_stands_says_when_that_counts(
    capsys: Capture,
) -> None:
    behind = {**CLASS, "spec": {"extendedResourceName": "example.com/gpu"}}
    asking_plainly = pod("plain", "shop", cpu="1")
    resources = asking_plainly["spec"]["containers"][0]["resources"]
    resources["requests"]["example.com/gpu"] = "1"
    items = shop(asking_plainly, behind)
    text = why(capsys, "shop/plain", "-s", items, "--release", "1.35")
    assert "Insufficient example.com/gpu (NodeResourcesFit)" in text
    assert "devices of the DeviceClass gpu stand for it only on nodes" in text
    assert "Insufficient" not in why(capsys, "shop/plain", "-s", items, "--release", "1.36")


def test_a_pod_that_lacks_devices_is_told_what_keeps_them_from_it(capsys: Capture) -> None:
    items = [*node_with("n", 1, 1), CLASS, claim("c", asked(3)), asking("p", "c")]
    text = why(capsys, "default/p", "-s", snapshot(*items))
    assert "devices of nodes that have too few" in text
    assert "default/c, request g  wants 3, a node has at most 2 free  of 2 seen" in text


def test_what_would_place_a_pod_of_a_snapshot(capsys: Capture) -> None:
    text = why(capsys, "shop/search", "-s", shop())
    assert text.startswith("shop/search is pending: none of 2 nodes takes it\n")
    assert "  nearest to taking it\n    n2  node(s) didn't match" in text
    assert "    n1  Insufficient cpu (4 of 6 cpu free) [NodeResourcesFit]" in text
    assert "request 4 cpu instead of 6" in text
    assert "drop disk=ssd from spec.nodeSelector" in text
    assert "label n2 disk=ssd" in text
    advice = document(capsys, "search", "-n", "shop", "-s", shop())["advice"]
    assert advice["situation"] == "fitsNowhere"
    kinds = [(each["of"], each["kind"], each["node"]) for each in advice["suggestions"]]
    # Each has one change; a share of an amount is more than something that has none.
    assert kinds == [
        ("pod", "nodeSelector", "n2"),
        ("node", "nodeLabel", "n2"),
        ("pod", "request", "n1"),
    ]


def test_a_placed_pod_says_which_rules_decided(capsys: Capture) -> None:
    advice = document(capsys, "shop/cart", "-s", shop())["advice"]
    assert (advice["situation"], advice["node"]) == ("placed", "n2")
    (other,) = advice["runnersUp"]
    assert other["node"] == "n1"
    assert other["by"] == advice["total"] - other["total"] > 0
    named = sum(rule["by"] for rule in other["rules"])
    assert named >= other["by"] > named - min(rule["by"] for rule in other["rules"])
    assert "n2 beside the best others" in why(capsys, "shop/cart", "-s", shop())


def test_a_namespace_and_a_group_are_summed_up(capsys: Capture) -> None:
    members = [pod(f"g{number}", "shop", cpu="9") for number in range(3)]
    for each in members:
        each["metadata"].setdefault("labels", {})[GROUP] = "gang"
    cluster = shop(*members)
    shown = document(capsys, "-n", "shop", "-s", cluster)
    assert (shown["pods"], shown["pending"], shown["leftOut"]) == (6, 5, 0)
    assert shown["situations"] == {"fitsNowhere": 4, "fits": 1}
    assert shown["rejectedBy"] == {"NodeResourcesFit": 4, "NodeAffinity": 1}
    assert shown["suggestions"][0] == {"of": "pod", "kind": "request", "pods": 4}
    assert [len(each["pods"]) for each in shown["advice"]] == [3, 1, 1]
    text = why(capsys, "-n", "shop", "-s", cluster)
    assert text.startswith("the namespace shop: 6 pods, 1 on nodes\n")
    assert text.endswith("\njudged by the policy kube-scheduler-default, here\n")
    assert shown["judgedBy"] == "the policy kube-scheduler-default, here"
    group = document(capsys, "-n", "shop", "--group", "gang", "-s", cluster)
    assert (group["group"], group["pods"], group["pending"]) == ("gang", 3, 3)
    assert why(capsys, "-n", "none", "-s", cluster).endswith("no pod is pending\n")


def test_pods_of_other_schedulers_are_named_where_kube_scheduler_is_asked(capsys: Capture) -> None:
    others = [pod(f"o{number}", "shop", cpu="9") for number in range(2)]
    for each in others:
        each["spec"]["schedulerName"] = "default-scheduler"
    cluster = shop(*others)
    note = "judged as kube-scheduler judges: 2 of kpolicy;"
    assert main(["why", "-n", "shop", "-s", cluster]) == 0
    assert note in capsys.readouterr().err
    assert main(["why", "-n", "shop", "-s", cluster, "--policy", "demo"]) == 0
    assert "note" not in capsys.readouterr().err


def test_a_pod_that_names_its_node_is_sent_to_that_node_and_to_no_rule(capsys: Capture) -> None:
    daemon = pod("daemon", "shop", cpu="5")
    names = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    required = {"nodeSelectorTerms": [{"matchFields": [names]}]}
    daemon["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }
    text = why(capsys, "shop/daemon", "-s", shop(daemon))
    assert "only on nodes that its node affinity names by metadata.name (n1)" in text
    assert "--rule PreFilter" not in text


def test_control_characters_of_schedulers_names_are_escaped(capsys: Capture) -> None:
    other = pod("o", "shop", cpu="9")
    other["spec"]["schedulerName"] = "a\x1b[31m"
    for arguments in (["why", "-n", "shop"], ["explain", "--policy", "demo"]):
        assert main([*arguments, "-s", shop(other)]) == 0
        err = capsys.readouterr().err
        assert "1 of a\\x1b[31m" in err
        assert "\x1b" not in err


def test_lines_are_folded_to_the_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = shop(*(node(f"a-node-with-a-long-name-{number}", cpu="2") for number in range(9)))
    flat = why(capsys, "shop/search", "-s", cluster)
    assert max(map(len, flat.splitlines())) > 100
    monkeypatch.setenv("COLUMNS", "72")
    for arguments in (["why", "shop/search"], ["explain", "--pod", "shop/search"]):
        assert main([*arguments, "-s", cluster]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) > 10
        assert max(map(len, lines)) <= 72
    monkeypatch.setenv("COLUMNS", "400")
    assert why(capsys, "shop/search", "-s", cluster) == flat


def test_what_cannot_be_answered_has_a_code(capsys: Capture) -> None:
    assert "UnknownPod: shop/serch: there is no such pod" in why(
        capsys, "shop/serch", "-s", shop(), code=2
    )
    assert "a POD" in why(capsys, "-s", shop(), code=2)
    assert "--at needs a journal" in why(
        capsys, "shop/search", "-s", shop(), "--at", "2026-01-01T00:00:00Z", code=2
    )
    no_nodes = snapshot(pod("alone", "shop"), name="alone.json")
    assert document(capsys, "shop/alone", "-s", no_nodes)["advice"] == {
        "situation": "noNodes",
        "nodes": 0,
        "message": "no nodes available to schedule pods",
    }


def test_a_moment_of_a_journal(capsys: Capture, folder: Path) -> None:
    made = JournaledEngine(folder / "journal")
    made.begin(nodes=2)
    made.place("web-0")
    made.clock.stand_still(60)
    huge = pending("huge")
    huge["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "64"}}
    made.call("watch", "pods", lines(("ADDED", huge)), made.now())
    made.call("schedule", ["huge"], made.now())
    made.close()
    shown = document(capsys, "huge", "-s", "journal")
    assert shown["situation"] == "fits nowhere"
    assert shown["judgedBy"] == "the policy that decided then"
    assert [each["kind"] for each in shown["advice"]["suggestions"]] == ["request"]
    early = ("-s", "journal", "--at", "2026-01-01T00:00:30Z")
    assert document(capsys, "web-0", *early)["advice"]["situation"] == "placed"
    assert "UnknownPod: there was no pod default/huge" in why(capsys, "huge", *early, code=2)
    for time, code in (("2025-01-01T00:00:00Z", "Before"), ("2027-01-01T00:00:00Z", "After")):
        text = why(capsys, "huge", "-s", "journal", "--at", time, code=2)
        assert f"{code}Journal: " in text


def test_a_moment_between_two_runs_is_a_gap(capsys: Capture, folder: Path) -> None:
    for run, later_ns in (("first", 0), ("second", 3_600 * NANOSECONDS)):
        made = JournaledEngine(folder / "journal", run=run, later_ns=later_ns)
        made.begin(nodes=2)
        made.place("web-0")
        made.close()
    text = why(capsys, "web-0", "-s", "journal", "--at", "2026-01-01T00:30:00Z", code=2)
    assert "JournalGap: " in text
    assert "nothing was recorded between" in text
