"""Objects from a few words, and patches of them."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.offline.policy_tests import fixture_objects
from kpolicy.offline.policy_tests.document_model import (
    NodeEntry,
    NodeForm,
    PatchOperation,
    PodForm,
    RunningPod,
    nanoseconds,
)
from kpolicy.offline.policy_tests.fixture_objects import patched
from tests.unit.offline.policy_tests.suites import codes, ran


def test_a_node_has_what_nodes_have_and_forms_merge() -> None:
    base = NodeForm.model_validate(
        {
            "labels": {"gpu": "a100", "zone": "a"},
            "allocatable": {"gpu": 8, "cpu": "64"},
            "taints": ["a=b:NoSchedule", "c:NoExecute"],
            "spec": {"podCIDR": "10.0.0.0/24"},
        }
    )
    entry = NodeEntry.model_validate(
        {
            "name": "n",
            "from": "base",
            "labels": {"zone": "b"},
            "conditions": {"Ready": "False"},
            "images": ["web"],
            "spec": {"providerID": "x"},
            "status": {"nodeInfo": {"os": "linux"}},
        }
    )
    made = fixture_objects.node(entry, {"base": base})
    labels = {"kubernetes.io/hostname": "n", "gpu": "a100", "zone": "b"}
    assert made["metadata"] == {"name": "n", "labels": labels}
    assert made["spec"] == {
        "podCIDR": "10.0.0.0/24",
        "providerID": "x",
        "taints": [
            {"key": "a", "effect": "NoSchedule", "value": "b"},
            {"key": "c", "effect": "NoExecute"},
        ],
    }
    amounts = {"cpu": "64", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    assert made["status"]["allocatable"] == {**amounts, "gpu": "8"}
    assert made["status"]["capacity"] == {**amounts, "gpu": "8"}
    assert made["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
    assert made["status"]["nodeInfo"] == {"os": "linux"}


def test_a_pod_in_few_words_is_that_of_the_api() -> None:
    form = PodForm.model_validate(
        {
            "namespace": "shop",
            "labels": {"app": "web"},
            "requests": {"cpu": 0.5, "memory": "1Gi"},
            "limits": {"cpu": 1},
            "priority": 7,
            "nodeSelector": {"zone": "a"},
            "tolerations": ["a=b:NoSchedule", "c", {"operator": "Exists"}],
        }
    )
    made = fixture_objects.pod(form, {}, name="p", scheduler="kpolicy")
    metadata = {"name": "p", "namespace": "shop", "labels": {"app": "web"}, "uid": "shop/p"}
    assert made["metadata"] == metadata
    assert made["spec"]["tolerations"] == [
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
        {"key": "c", "operator": "Exists"},
        {"operator": "Exists"},
    ]
    [container] = made["spec"]["containers"]
    asked = {"requests": {"cpu": "0.5", "memory": "1Gi"}, "limits": {"cpu": "1"}}
    assert container["resources"] == asked
    assert (made["spec"]["priority"], made["spec"]["schedulerName"]) == (7, "kpolicy")


def test_fixtures_build_on_fixtures_and_share_nothing() -> None:
    fixtures = {
        "a": PodForm.model_validate(
            {"labels": {"x": "1"}, "spec": {"containers": [{"name": "c"}]}}
        ),
        "b": PodForm.model_validate({"from": "a", "labels": {"y": "2"}, "requests": {"cpu": 1}}),
    }
    form = PodForm.model_validate({"from": "b"})
    first, two = (fixture_objects.pod(form, fixtures, name="p", scheduler="s") for _ in range(2))
    first["spec"]["containers"][0]["name"] = "changed"
    assert two["spec"]["containers"][0]["name"] == "c"
    assert two["metadata"]["labels"] == {"x": "1", "y": "2"}
    assert fixtures["a"].spec == {"containers": [{"name": "c"}]}


def test_running_pods_are_numbered() -> None:
    entry = RunningPod.model_validate({"name": "w", "node": "n", "count": 3})
    made = list(fixture_objects.running(entry, {}, position=1, scheduler="s"))
    assert [pod["metadata"]["name"] for pod in made] == ["w-1", "w-2", "w-3"]
    assert len({pod["metadata"]["uid"] for pod in made}) == 3
    assert {pod["spec"]["nodeName"] for pod in made} == {"n"}


PATCHES: list[tuple[list[dict[str, Any]], dict[str, Any], int | None]] = [
    ([{"op": "add", "path": "/b", "value": 1}], {"a": [1, 2], "b": 1}, None),
    ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3]}, None),
    ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2]}, None),
    ([{"op": "replace", "path": "/a/1", "value": 5}], {"a": [1, 5]}, None),
    (
        [{"op": "remove", "path": "/a"}, {"op": "add", "path": "/x~1y", "value": 0}],
        {"x/y": 0},
        None,
    ),
    ([{"op": "remove", "path": "/a/0"}, {"op": "remove", "path": "/z"}], {"a": [2]}, 1),
    ([{"op": "replace", "path": "/a/2", "value": 5}], {"a": [1, 2]}, 0),
    ([{"op": "add", "path": "/a/x/y", "value": 5}], {"a": [1, 2]}, 0),
    ([{"op": "add", "path": "a", "value": 5}], {"a": [1, 2]}, 0),
    ([{"op": "remove", "path": "/a/²"}], {"a": [1, 2]}, 0),
]


@pytest.mark.parametrize(("operations", "result", "failed"), PATCHES)
def test_patches(
    operations: list[dict[str, Any]], result: dict[str, Any], failed: int | None
) -> None:
    item = {"a": [1, 2]}
    made, index, why = patched(
        item, [PatchOperation.model_validate(operation) for operation in operations]
    )
    assert (made, index, bool(why)) == (result, failed, failed is not None)
    assert item == {"a": [1, 2]}


def test_times() -> None:
    assert nanoseconds("1970-01-01T00:00:01.5Z") == 1_500_000_000
    assert nanoseconds("1970-01-01T01:00:00.000000001+01:00") == 1
    good = "- {name: a, pod: {}, now: 2026-11-01T10:00:00Z, expect: {decision: place}}"
    assert ran(good).is_fine
    for wrong in ("2026-13-01T10:00:00Z", "2026-11-01", "9999-01-01T00:00:00Z", "now"):
        assert ("KP113", 9, 29) in codes(ran(good.replace("2026-11-01T10:00:00Z", wrong))), wrong


ODD = [
    "metadata: {labels: 5}",
    "metadata: {name: null}",
    "spec: {containers: []}",
    "spec: {containers: x}",
    "spec: {containers: [1]}, requests: {cpu: 1}",
    "metadata: {namespace: {}}",
    "spec: {priority: high}",
    "metadata: {creationTimestamp: 1}",
]


@pytest.mark.parametrize("odd", ODD)
def test_odd_objects_are_reported_and_never_raise(odd: str) -> None:
    ran(f"- {{name: a, pod: {{{odd}}}, expect: {{decision: place}}}}")
    patch = "patch: [{op: remove, path: /metadata}]"
    run = ran(f"- {{name: a, pod: {{}}, {patch}, expect: {{decision: place}}}}")
    assert [code for code, _, _ in codes(run)] == ["KP113"]
    nodes = f"nodes: [{{name: n, {odd.replace('containers', 'taints')}}}]\n".replace(
        ", requests: {cpu: 1}", ""
    )
    ran("- {name: a, pod: {}, expect: {decision: place}}", nodes)
