"""F: which nodes a pod may be on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster


def affinity(key: str, operator: str, *values: str, fields: bool = False) -> dict[str, Any]:
    requirement: dict[str, Any] = {"key": key, "operator": operator}
    if values:
        requirement["values"] = list(values)
    term = {"matchFields" if fields else "matchExpressions": [requirement]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def pod_terms(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def with_app(app: str, topology: str = "zone", **fields: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {"labelSelector": selector, "topologyKey": topology, **fields}


def judge(stage: Stage, fits: bool, why: str, **pod: Any) -> None:
    """The pod is bound, or parked for that reason."""
    stage.pod("pod", **pod)
    if fits:
        stage.bound("pod")
    else:
        stage.parked("pod", why)


@pytest.mark.parametrize(
    ("requests", "fits", "why"),
    [
        ({"cpu": "1500m"}, True, ""),
        ({"cpu": "2500m"}, False, "1 Insufficient cpu"),
        ({"memory": "5Gi"}, False, "1 Insufficient memory"),
        ({"example.com/gpu": "2"}, True, ""),
        ({"example.com/gpu": "3"}, False, "1 Insufficient example.com/gpu"),
        ({"ephemeral-storage": "501Gi"}, False, "1 Insufficient ephemeral-storage"),
    ],
)
def test_f01_resources(stage: Stage, requests: dict[str, str], fits: bool, why: str) -> None:
    stage.node("only", cpu="2", memory="4Gi", resources={"example.com/gpu": "2"})
    resources = {"requests": requests, "limits": requests}
    containers = [{"name": "main", "image": "none", "resources": resources}]
    judge(stage, fits, why, spec={"containers": containers})


def test_f01_pods_count_too(stage: Stage) -> None:
    stage.node("only", pods=1)
    stage.pod("first")
    stage.bound("first", "only")
    judge(stage, False, "1 Too many pods")


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        (affinity("disk", "In", "ssd", "nvme"), True),
        (affinity("disk", "In", "hdd"), False),
        (affinity("disk", "NotIn", "ssd"), False),
        (affinity("other", "NotIn", "ssd"), True),
        (affinity("disk", "Exists"), True),
        (affinity("other", "Exists"), False),
        (affinity("disk", "DoesNotExist"), False),
        (affinity("cores", "Gt", "16"), True),
        (affinity("cores", "Lt", "16"), False),
        (affinity("metadata.name", "In", "only", fields=True), True),
        (affinity("metadata.name", "NotIn", "only", fields=True), False),
        (affinity("metadata.name", "In", "other", fields=True), False),
        ({"nodeSelector": {"disk": "ssd", "cores": "32"}}, True),
        ({"nodeSelector": {"disk": "ssd", "cores": "16"}}, False),
    ],
)
def test_f02_node_affinity(stage: Stage, spec: dict[str, Any], fits: bool) -> None:
    stage.node("only", labels={"disk": "ssd", "cores": "32"})
    # Named nodes are looked at alone, and then the reason is another than that of a label.
    judge(stage, fits, "0/1 nodes are available: 1 node(s) didn't ", spec=spec)


TAINT = {"key": "a", "value": "1", "effect": "NoSchedule"}
TWO = {"key": "b", "value": "2", "effect": "NoExecute"}
SOFT = {"key": "c", "value": "3", "effect": "PreferNoSchedule"}
CONDITION = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
EQUAL_ONE = {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}
EXISTS_TWO = {"key": "b", "operator": "Exists"}


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        ([TAINT], [], False),
        ([TAINT], [EQUAL_ONE], True),
        ([TAINT], [{**EQUAL_ONE, "value": "2"}], False),
        ([TAINT], [{**EQUAL_ONE, "effect": "NoExecute"}], False),
        ([TAINT], [{"key": "a", "operator": "Exists"}], True),
        ([TAINT], [{"operator": "Exists"}], True),
        ([TAINT, TWO], [EQUAL_ONE], False),
        ([TAINT, TWO], [EQUAL_ONE, EXISTS_TWO], True),
        ([TWO], [{**EXISTS_TWO, "effect": "NoExecute", "tolerationSeconds": 30}], True),
        ([SOFT], [], True),
        ([CONDITION], [], False),
        ([CONDITION], [{"key": CONDITION["key"], "operator": "Exists"}], True),
    ],
)
def test_f03_taints(
    stage: Stage, taints: list[dict[str, str]], tolerations: list[dict[str, Any]], fits: bool
) -> None:
    stage.node("only", taints=taints)
    judge(stage, fits, "1 node(s) had untolerated taint(s)", spec={"tolerations": tolerations})


@pytest.mark.parametrize(
    ("spec", "labels", "fits"),
    [
        (pod_terms("podAffinity", with_app("web")), {}, True),
        (pod_terms("podAffinity", with_app("absent")), {}, False),
        (pod_terms("podAffinity", with_app("self")), {"app": "self"}, True),
        (pod_terms("podAffinity", with_app("web"), with_app("absent")), {}, False),
        (pod_terms("podAffinity", with_app("web", "rack")), {}, False),
        (pod_terms("podAffinity", with_app("web", namespaces=["elsewhere"])), {}, False),
        (pod_terms("podAffinity", with_app("web", namespaceSelector={})), {}, True),
        (pod_terms("podAntiAffinity", with_app("web")), {}, False),
        (pod_terms("podAntiAffinity", with_app("absent")), {}, True),
        (pod_terms("podAntiAffinity", with_app("web", "kubernetes.io/hostname")), {}, True),
        ({}, {"refused": "by-web"}, False),
    ],
)
def test_f04_inter_pod_affinity(
    stage: Stage, spec: dict[str, Any], labels: dict[str, str], fits: bool
) -> None:
    """`web` is on another node of the zone, and wants no pod labelled refused=by-web there."""
    stage.node("a", cpu="1", labels={"zone": "one"})
    refused = {"labelSelector": {"matchLabels": {"refused": "by-web"}}, "topologyKey": "zone"}
    stage.pod("web", cpu="1", labels={"app": "web"}, spec=pod_terms("podAntiAffinity", refused))
    stage.bound("web", "a")
    stage.node("b", labels={"zone": "one"})
    judge(stage, fits, "node(s) didn't", spec=spec, labels=labels)


def spread(app: str = "web", topology: str = "zone", **fields: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **fields,
    }
    return {"topologySpreadConstraints": [constraint]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        (spread(), False),
        (spread(maxSkew=2), True),
        (spread(app="other"), True),
        (spread(minDomains=2, nodeTaintsPolicy="Honor"), False),
        (spread(whenUnsatisfiable="ScheduleAnyway"), True),
        (spread(nodeTaintsPolicy="Honor"), True),
        (spread(topology="rack"), False),
    ],
)
def test_f05_topology_spread(stage: Stage, spec: dict[str, Any], fits: bool) -> None:
    """A pod in zone one, none in zone two, whose only node is tainted; ours counts itself."""
    stage.node("a", labels={"zone": "one"})
    stage.pod("web", labels={"app": "web"})
    stage.bound("web", "a")
    taint = {"key": "dedicated", "value": "other", "effect": "NoSchedule"}
    stage.node("b", labels={"zone": "two"}, taints=[taint])
    stage.prove_seen()
    reason = "node(s) didn't match pod topology spread constraints"
    judge(stage, fits, reason, spec=spec, labels={"app": "web"})


@pytest.mark.parametrize(
    ("port", "fits"),
    [
        ({"hostPort": 8080}, False),
        ({"hostPort": 8081}, True),
        ({"hostPort": 8080, "protocol": "UDP"}, True),
        ({"hostPort": 8080, "hostIP": "127.0.0.2"}, False),
    ],
)
def test_f06_host_ports(stage: Stage, port: dict[str, Any], fits: bool) -> None:
    def listening(requirement: dict[str, Any]) -> dict[str, Any]:
        ports = [{"containerPort": 80, **requirement}]
        return {"containers": [{"name": "main", "image": "none", "ports": ports}]}

    stage.node("only")
    stage.pod("first", spec=listening({"hostPort": 8080}))
    stage.bound("first", "only")
    judge(stage, fits, "1 node(s) didn't have free ports", spec=listening(port))


def test_f07_a_node_that_is_added_takes_the_pod(stage: Stage) -> None:
    stage.pod("waits")
    stage.parked("waits", "no nodes available")
    stage.node("new")
    stage.bound("waits", "new")


def test_f07_a_taint_that_goes_lets_the_pod_in(stage: Stage) -> None:
    stage.node("only", taints=[TAINT])
    stage.pod("waits")
    stage.parked("waits")
    stage.patch_node("only", {"spec": {"taints": None}})
    stage.bound("waits", "only")


def test_f07_a_pod_that_goes_makes_room(stage: Stage) -> None:
    stage.node("only", cpu="1")
    stage.pod("first", cpu="1")
    stage.bound("first", "only")
    stage.pod("waits", cpu="1")
    stage.parked("waits")
    stage.delete_pod("first")
    stage.bound("waits", "only")


def test_f07_a_companion_that_comes_draws_the_pod(stage: Stage) -> None:
    stage.node("only", labels={"zone": "one"})
    stage.pod("waits", spec=pod_terms("podAffinity", with_app("web")))
    stage.parked("waits")
    stage.pod("web", labels={"app": "web"})
    stage.bound("waits", "only")


def test_f07_a_companion_that_is_relabelled_draws_the_pod(stage: Stage) -> None:
    stage.node("only", labels={"zone": "one"})
    stage.pod("web", labels={"app": "api"})
    stage.bound("web", "only")
    stage.pod("waits", spec=pod_terms("podAffinity", with_app("web")))
    stage.parked("waits")
    stage.patch_pod("web", {"metadata": {"labels": {"app": "web"}}})
    stage.bound("waits", "only")
