"""Small clusters that the golden cases do not have. Their answers are those that kube-scheduler
1.36.2 and 1.37.2 gave; for 1.35 they follow from its source.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.golden import Case, explained

Json = dict[str, Any]


def answer(release: str, *items: Json, config: str = "") -> Json:
    """What the engine says of the one pending pod."""
    cluster = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    answers = explained(Case("by hand", release, config, cluster, ()))
    assert list(answers) == ["default/pending"]
    return answers["default/pending"]


def node(name: str, **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}},
    }


def namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pod(name: str, spec: Json, in_namespace: str = "default", **status: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": in_namespace,
            "uid": name,
            "labels": {"app": "web"},
        },
        "spec": {"containers": [{"name": "c"}], "schedulerName": "default-scheduler", **spec},
        "status": {"phase": "Pending", **status},
    }


@pytest.mark.parametrize(("release", "best"), [("1.36", ["a"]), ("1.37", ["a", "b"])])
def test_a_namespace_selector_that_no_labels_meet_selects_every_namespace_until_1_36(
    release: str, best: list[str]
) -> None:
    """The only other pod is in a namespace that the selector does not select."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": {
            "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]
        },
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    explanation = answer(
        release,
        namespace("default"),
        namespace("other", env="prod"),
        node("a"),
        node("b"),
        pod("placed", {"nodeName": "b"}, "other"),
        pod("pending", {"affinity": {"podAntiAffinity": required}}),
    )
    assert [found["name"] for found in explanation["nodes"] if "filter" not in found] == best


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_the_nominated_node_is_judged_where_the_pod_asks_for_other_nodes(release: str) -> None:
    by_name = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    explanation = answer(
        release,
        node("a", unschedulable=True),
        node("b", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("c"),
        pod("pending", {"affinity": {"nodeAffinity": required}}, nominatedNodeName="b"),
    )
    assert explanation["message"] == (
        "0/3 nodes are available: "
        "1 node(s) didn't satisfy plugin(s) [NodeAffinity TaintToleration], "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
    )
    assert [found["filter"]["plugin"] for found in explanation["nodes"]] == [
        "NodeUnschedulable",
        "TaintToleration",
        "PreFilter",
    ]


def resized(cpu: str, allocated: str, used: str) -> tuple[Json, Json]:
    """A container and its status, without their name."""
    requests = {"resources": {"requests": {"cpu": cpu}}}
    status = {
        "allocatedResources": {"cpu": allocated},
        "resources": {"requests": {"cpu": used}},
    }
    return requests, status


@pytest.mark.parametrize(("release", "fits"), [("1.35", False), ("1.36", False), ("1.37", True)])
def test_from_1_37_on_a_resize_holds_the_largest_sum_over_the_containers(
    release: str, fits: bool
) -> None:
    """Until then 500m and 400m, the largest of each container; later the sum of 600m requested."""
    containers = [resized("500m", "100m", "100m"), resized("100m", "100m", "400m")]
    placed = pod(
        "placed",
        {
            "nodeName": "a",
            "containers": [{"name": f"c{i}", **spec} for i, (spec, _) in enumerate(containers)],
        },
        containerStatuses=[{"name": f"c{i}", **status} for i, (_, status) in enumerate(containers)],
    )
    asking = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]}
    found = answer(release, node("a"), placed, pod("pending", asking))["nodes"][0]
    assert ("filter" not in found) is fits


@pytest.mark.parametrize(
    ("release", "cpu", "memory"),
    [("1.35", True, True), ("1.36", False, True), ("1.37", False, False)],
)
def test_a_resize_of_the_whole_pod_counts_from_1_36_on(
    release: str, cpu: bool, memory: bool
) -> None:
    """The spec names only CPU for the whole pod. What only the status names counts from 1.37 on."""
    placed = pod(
        "placed",
        {"nodeName": "a", "resources": {"requests": {"cpu": "100m"}}},
        resources={"requests": {"cpu": "900m", "memory": "900Mi"}},
        allocatedResources={"cpu": "100m"},
    )

    def fits(resource: str, amount: str) -> bool:
        requests = {"resources": {"requests": {resource: amount}}}
        asking = {"containers": [{"name": "c", **requests}]}
        found = answer(release, node("a"), placed, pod("pending", asking))["nodes"][0]
        return "filter" not in found

    assert (fits("cpu", "300m"), fits("memory", "300Mi")) == (cpu, memory)


def device_class(selector: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu", "uid": "gpu"},
        "spec": {
            "extendedResourceName": "example.com/gpu",
            "selectors": [{"cel": {"expression": selector}}],
        },
    }


def slice_of(pool: str, devices: int, **place: object) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": pool, "uid": pool},
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"gpu-{number}", "attributes": {"index": {"int": number}}}
                for number in range(devices)
            ],
            **place,
        },
    }


def claim_of(pool: str, device: str) -> Json:
    """It has the device already."""
    result = {"request": "r", "driver": "gpu.example.com", "pool": pool, "device": device}
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "held", "namespace": "default", "uid": "held"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


@pytest.mark.parametrize("release", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("selector", "scores"),
    [
        # Of `a` one of four devices is held and one more asked for; `b` has three more that its
        # label selects; on `c` a device plugin offers the resource.
        ("device.driver == 'gpu.example.com'", {"a": 50, "b": 33, "c": 20}),
        # Devices with a larger index are not of the class.
        ("device.attributes['gpu.example.com'].index < 2", {"a": 100, "b": 50, "c": 20}),
    ],
)
def test_a_score_counts_the_devices_behind_a_resource(
    release: str, selector: str, scores: dict[str, int]
) -> None:
    strategy = {
        "type": "MostAllocated",
        "resources": [{"name": "example.com/gpu", "weight": 1}],
    }
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]}
        ],
    }
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    plugged = node("c")
    plugged["status"]["allocatable"]["example.com/gpu"] = "5"
    asking = {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    explanation = answer(
        release,
        node("a"),
        node("b"),
        plugged,
        device_class(selector),
        slice_of("of-a", 4, nodeName="a"),
        slice_of("of-b", 3, nodeSelector={"nodeSelectorTerms": terms}),
        claim_of("of-a", "gpu-0"),
        pod("pending", asking),
        config=json.dumps(config),
    )
    found = {each["name"]: each["raw"]["NodeResourcesFit"] for each in explanation["nodes"]}
    assert found == scores
