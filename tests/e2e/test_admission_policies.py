"""Rules as node affinity, given by MutatingAdmissionPolicies of a real API server: the pods that it
admits accept the same nodes as the rules do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.e2e.scheduler_process import KPOLICY

pytestmark = pytest.mark.cluster

RULES = {
    "own-pool": "label(node, 'pool') == label(pod, 'pool')",
    "not-on-spot": "pod.priority < 1000 || !('spot' in node.labels)",
    "old-zones": "!('zone' in node.labels) || node.labels['zone'] in ['a', 'b']",
    "large": "!('big' in pod.labels) || int(node.labels['cores']) >= 16",
    "never": "pod.namespace != 'other' && pod.labels[?'closed'].orValue('no') == 'no'",
    "not-said": "node.podCount < 100",
}

NODES: dict[str, dict[str, str]] = {
    "plain": {},
    "pool-a": {"pool": "a", "zone": "a", "cores": "32"},
    "pool-a-spot": {"pool": "a", "spot": "", "zone": "c", "cores": "16"},
    "pool-b": {"pool": "b", "cores": "15"},
    "odd": {"pool": "", "cores": "many", "zone": "b"},
}


def term(*expressions: tuple[str, str, list[str]], name: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {}
    if expressions:
        keys = ("key", "operator", "values")
        listed = [dict(zip(keys, each, strict=True)) for each in expressions]
        made["matchExpressions"] = listed
    if name:
        made["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    return made


AFFINITIES: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "zone": [term(("zone", "Exists", []))],
    "two": [term(("zone", "In", ["a"]), ("cores", "Gt", ["20"])), term(name="pool-b")],
    "empty-too": [{}, term(("pool", "DoesNotExist", []))],
    "only-empty": [{}],
}
LABELS: dict[str, dict[str, str]] = {
    "bare": {},
    "a": {"pool": "a"},
    "b": {"pool": "b"},
    "big": {"pool": "a", "big": ""},
    "closed": {"closed": "yes"},
}


def policy(*rules: str) -> str:
    """These rules, and the affinity of the pods themselves."""
    predicates = [{"name": name, "expression": RULES[name]} for name in rules]
    document = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "shop"},
        "spec": {
            "profiles": [{"schedulerName": "kpolicy"}],
            "base": "none",
            "predicates": [*predicates, {"builtin": "NodeAffinity"}],
        },
    }
    return json.dumps(document)


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        for name, labels in NODES.items():
            plane.admin.create_node(name, labels=labels)
        for value, name in ((1000, "high"), (1, "low")):
            described = {"metadata": {"name": name}, "value": value}
            plane.admin.create("/apis/scheduling.k8s.io/v1/priorityclasses", described)
        for namespace in ("before", "after", "probes"):
            plane.admin.create_namespace(namespace)
        yield plane


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([KPOLICY, *arguments], capture_output=True, text=True, check=False)


def pods(plane: ControlPlane, namespace: str) -> None:
    for labelled, labels in LABELS.items():
        for named, terms in AFFINITIES.items():
            for priority in ("high", "low"):
                spec: dict[str, Any] = {"priorityClassName": priority}
                if terms:
                    required = {"nodeSelectorTerms": terms}
                    kind = "requiredDuringSchedulingIgnoredDuringExecution"
                    spec["affinity"] = {"nodeAffinity": {kind: required}}
                plane.admin.create_pod(
                    f"{labelled}-{named}-{priority}",
                    namespace=namespace,
                    scheduler_name="kpolicy",
                    labels=labels,
                    spec=spec,
                )


def accepted(plane: ControlPlane, namespace: str, by: Path, folder: Path) -> dict[str, list[str]]:
    """The nodes of each pod of the namespace."""
    snapshot = folder / "cluster.json"
    snapshot.write_text(plane.kubectl("get", "pods,nodes,namespaces", "-A", "-o", "json"))
    explained = run("explain", "--snapshot", snapshot, "--policy", by, "--output", "jsonl")
    assert explained.returncode in (0, 1), explained.stderr
    found: dict[str, list[str]] = {}
    for line in explained.stdout.splitlines():
        explanation = json.loads(line)
        of, _, name = explanation["pod"].partition("/")
        if of == namespace:
            nodes = [] if "preFilter" in explanation else explanation["nodes"]
            found[name] = sorted(each["name"] for each in nodes if "filter" not in each)
    return found


def test_admitted_pods_accept_the_nodes_that_the_rules_accept(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    with_rules, without = tmp_path / "rules.json", tmp_path / "affinity.json"
    with_rules.write_text(policy(*RULES))
    without.write_text(policy())
    pods(cluster, "before")
    converted = run("convert", "--to", "admission-policy", "--templates", with_rules)
    assert converted.returncode == 1
    assert "`not-said`: it reads `node.podCount`" in converted.stderr
    cluster.kubectl("apply", "-f", "-", stdin=converted.stdout)

    def is_in_force() -> bool:
        """Each policy closes one of these pods to some node."""
        probes = [{"pool": "a", "big": ""}, {"closed": "yes"}]
        texts = []
        for labels in probes:
            made = cluster.admin.create_pod(
                "probe",
                namespace="probes",
                scheduler_name="kpolicy",
                labels=labels,
                spec={"priorityClassName": "high"},
            )
            cluster.admin.delete_pod("probe", namespace="probes")
            texts.append(json.dumps(made["spec"].get("affinity", {})))
        keys = ("pool", "spot", "zone", "cores")
        return all(f'"{key}"' in texts[0] for key in keys) and "no-node" in texts[1]

    wait_for(is_in_force, "the admission policies to be in force", timeout_s=60)
    pods(cluster, "after")
    wanted = accepted(cluster, "before", with_rules, tmp_path)
    got = accepted(cluster, "after", without, tmp_path)
    assert len(wanted) == len(LABELS) * len(AFFINITIES) * 2
    assert got == wanted
    assert {tuple(nodes) for nodes in wanted.values()} >= {(), ("plain",), ("pool-a",)}


def test_an_admitted_template_is_not_admitted_twice(cluster: ControlPlane, tmp_path: Path) -> None:
    """The pods of a Job get what its template has already: it says the rule, and stays."""
    rules = tmp_path / "pool.json"
    rules.write_text(policy("own-pool"))
    text = run("convert", "--to", "admission-policy", "--templates", rules).stdout
    cluster.kubectl("apply", "-f", "-", stdin=text)
    container = {"name": "main", "image": "none"}
    template = {
        "metadata": {"labels": {"pool": "a"}},
        "spec": {
            "schedulerName": "kpolicy",
            "restartPolicy": "Never",
            "containers": [container],
        },
    }
    body = {"metadata": {"name": "work", "namespace": "after"}, "spec": {"template": template}}

    def terms(spec: dict[str, Any]) -> list[Any]:
        affinity = spec.get("affinity", {}).get("nodeAffinity", {})
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
        return list(required.get("nodeSelectorTerms", []))

    def admitted() -> list[Any]:
        path = "/apis/batch/v1/namespaces/after/jobs"
        made = cluster.admin.create(f"{path}?dryRun=All", body)
        return terms(made["spec"]["template"]["spec"])

    pool = {"key": "pool", "operator": "In", "values": ["a"]}
    found = wait_for(admitted, "the template to get affinity", timeout_s=60)
    assert pool in found[0]["matchExpressions"]
    spec = {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": found}
            }
        }
    }
    made = cluster.admin.create_pod(
        "of-work", namespace="after", scheduler_name="kpolicy", labels={"pool": "a"}, spec=spec
    )
    assert sum(each == pool for each in terms(made["spec"])[0]["matchExpressions"]) == 1
