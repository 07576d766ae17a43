"""Patches by themselves, also with arbitrary input."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic_core import to_json

from kpolicy.api_times import api_time
from kpolicy.testing import builders
from kpolicy.testing.apiserver.list_parameters import Selector, parse
from kpolicy.testing.apiserver.protobuf_objects import from_protobuf
from kpolicy.testing.apiserver.request_bodies import decode
from kpolicy.testing.apiserver.tables import age, duration
from kpolicy.testing.objects.admission import check_shape
from kpolicy.testing.objects.failures import ApiError
from kpolicy.testing.objects.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    patched,
    strategic_merge,
)
from kpolicy.testing.objects.resource_types import PODS, RESOURCES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    (
        "metadata",
        "spec",
        "status",
        "labels",
        "containers",
        "conditions",
        "name",
        "type",
        "$patch",
        "$setElementOrder/conditions",
        "$deleteFromPrimitiveList/finalizers",
        "$retainKeys",
    )
)
OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=20,
)


def result_or_code(work: Callable[[], object]) -> object:
    """What the work returns, or the code with which it is refused."""
    try:
        return work()
    except ApiError as refused:
        return refused.code


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3600, "60m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (9 * 365 * 86400, "9y"),
        (-1, "0s"),
        (-5, "<invalid>"),
    ],
)
def test_durations_as_kubectl_shortens_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_times_there_and_back() -> None:
    now_ns = 1_790_000_000_500_000_000
    assert api_time(now_ns) == "2026-09-21T14:13:20Z"
    assert age(api_time(now_ns), now_ns + 60 * 10**9) == "60s"
    assert age("2026-09-21T14:13:20.123456Z", now_ns) == "0s"
    assert age(None, now_ns) == age("soon", now_ns) == "<unknown>"


def test_strategic_directives() -> None:
    held = {
        "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}],
        "tolerations": [{"key": "x"}],
        "finalizers": ["one", "two"],
        "volumes": [{"name": "v", "emptyDir": {}, "kept": 1}],
    }

    def merged(patch: dict[str, Any]) -> Any:
        return strategic_merge(held, patch)

    assert merged({"containers": [{"name": "b", "image": "3"}]})["containers"] == [
        {"name": "a", "image": "1"},
        {"name": "b", "image": "3"},
    ]
    gone = merged({"containers": [{"name": "a", "$patch": "delete"}]})
    assert gone["containers"] == [{"name": "b", "image": "2"}]
    replaced = merged({"containers": [{"name": "c"}, {"$patch": "replace"}]})
    assert replaced["containers"] == [{"name": "c"}]
    assert merged({"tolerations": [{"key": "y"}]})["tolerations"] == [{"key": "y"}]
    assert merged({"finalizers": ["three"]})["finalizers"] == ["one", "two", "three"]
    assert merged({"$deleteFromPrimitiveList/finalizers": ["one"]})["finalizers"] == ["two"]
    ordered = merged(
        {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": []}
    )
    assert [container["name"] for container in ordered["containers"]] == ["b", "a"]
    retained = merged(
        {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}
    )
    assert retained["volumes"] == [{"name": "v", "hostPath": {"path": "/"}}]
    assert merged({"volumes": None}) == {key: held[key] for key in held if key != "volumes"}
    assert held["containers"] == [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]


@pytest.mark.parametrize(
    ("operations", "labels"),
    [
        ([{"op": "add", "path": "/metadata/list/-", "value": 3}], [1, 2, 3]),
        ([{"op": "add", "path": "/metadata/list/0", "value": 0}], [0, 1, 2]),
        ([{"op": "replace", "path": "/metadata/list/1", "value": 9}], [1, 9]),
        ([{"op": "remove", "path": "/metadata/list/0"}], [2]),
        ([{"op": "copy", "from": "/metadata/list/0", "path": "/metadata/list/-"}], [1, 2, 1]),
        ([{"op": "move", "from": "/metadata/list/0", "path": "/metadata/list/1"}], [2, 1]),
    ],
)
def test_json_patch_in_lists(operations: list[Any], labels: list[int]) -> None:
    result = patched({"metadata": {"list": [1, 2]}}, JSON_PATCH, operations)
    assert result["metadata"]["list"] == labels


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/metadata/list/3", "value": 0},
        {"op": "remove", "path": "/metadata/list/-"},
        {"op": "remove", "path": "/metadata/list/01"},
        {"op": "remove", "path": "/metadata/list/-1"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/nope", "value": 0},
        {"op": "leap", "path": "/metadata"},
        {"op": "add", "path": "metadata", "value": 0},
        {"op": "add", "path": "/metadata/list/0/x", "value": 0},
        {},
    ],
)
def test_json_patches_that_do_not_fit(operation: dict[str, Any]) -> None:
    held = {"metadata": {"list": [1, 2]}}
    with pytest.raises(ApiError) as refused:
        patched(held, JSON_PATCH, [operation])
    assert refused.value.code == 422
    assert held == {"metadata": {"list": [1, 2]}}


@settings(max_examples=300)
@given(OBJECTS, OBJECTS, st.sampled_from((JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)))
def test_a_patch_is_applied_or_refused_and_changes_nothing_that_was(
    held: Any, patch: Any, kind: str
) -> None:
    object_ = {"metadata": {"name": "a"}, "spec": held, "status": {"conditions": held}}
    before = to_json(object_)
    result = result_or_code(lambda: patched(object_, kind, patch))
    assert isinstance(result, dict) or result in (400, 422)
    assert to_json(object_) == before


@settings(max_examples=200)
@given(st.sampled_from(RESOURCES), OBJECTS)
def test_a_shape_is_accepted_or_refused(resource: Any, value: Any) -> None:
    for object_ in ({"metadata": value}, {"spec": value}, {"spec": {"containers": [value]}}):
        assert result_or_code(partial(check_shape, resource, object_)) in (None, 400)


@settings(max_examples=300)
@given(st.text(max_size=30), st.text(max_size=30))
def test_a_selector_is_read_or_refused(labels: str, fields: str) -> None:
    result = result_or_code(lambda: parse(PODS, labels, fields))
    assert isinstance(result, Selector) or result == 400


@pytest.mark.parametrize("text", ["a in", "=a", "a=b c", "a in b", ",", "a==b==c"])
def test_selectors_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse(PODS, text, "")
    assert refused.value.code == 400


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_no_protobuf_or_json(data: bytes) -> None:
    result = from_protobuf(b"k8s\x00" + data)
    assert result is None or isinstance(result, dict)
    with suppress(ValueError):
        decode(data)


def test_protobuf_of_a_config_map() -> None:
    def field(number: int, content: bytes) -> bytes:
        return bytes((number << 3 | 2, len(content))) + content

    entry = field(1, b"policy.yaml") + field(2, b"kind: X")
    binary = field(1, b"b") + field(2, b"\x00\xff")
    raw = field(1, field(1, b"c") + field(3, b"ns")) + field(2, entry) + field(3, binary)
    type_ = field(1, field(1, b"v1") + field(2, b"ConfigMap"))
    assert from_protobuf(b"k8s\x00" + type_ + field(2, raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "ns"},
        "data": {"policy.yaml": "kind: X"},
        "binaryData": {"b": "AP8="},
    }


# What kubectl 1.3x sends for `create deployment web --image=nginx:1 --replicas=2 --port=80 -- sleep
# 1`, `create service nodeport web --tcp=80:http` and `create pdb p --selector=app=web
# --min-available=50%`.
CREATED = {
    "Deployment": (
        "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EsQBCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEpIBCAIS"
        "DAoKCgNhcHASA3dlYhp4ChwKABIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViElgSOgoFbmdpbngSB25naW54OjEaBXNs"
        "ZWVwGgExKgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIgIK"
        "ACgAOAAaDAgAEAAYACAAKAA4ABoAIgA="
    ),
    "Service": (
        "azhzAAoNCgJ2MRIHU2VydmljZRJrCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkQKHgoHODAtaHR0cBID"
        "VENQGFAiCggBEAAaBGh0dHAoABIKCgNhcHASA3dlYhoAIghOb2RlUG9ydDoAQgBSAFoAYABoABoCCgAaACIA"
    ),
    "PodDisruptionBudget": (
        "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSOgoRCgFwEgAaACIAKgAyADgAQgASGQoJCAEQABoD"
        "NTAlEgwKCgoDYXBwEgN3ZWIaCggAGAAgACgAMAAaACIA"
    ),
}
LABELS = {"app": "web"}
CONTAINER = {
    "name": "nginx",
    "image": "nginx:1",
    "command": ["sleep", "1"],
    "ports": [{"containerPort": 80}],
    "resources": {},
}
SPECS = {
    "Deployment": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}},
    },
    "Service": {
        "ports": [{"name": "80-http", "protocol": "TCP", "port": 80, "targetPort": "http"}],
        "selector": LABELS,
        "type": "NodePort",
    },
    "PodDisruptionBudget": {"minAvailable": "50%", "selector": {"matchLabels": LABELS}},
}


@pytest.mark.parametrize("kind", CREATED)
def test_what_kubectl_creates_by_itself_is_read(kind: str) -> None:
    created = from_protobuf(base64.b64decode(CREATED[kind]))
    assert created is not None
    assert created["kind"] == kind
    assert created["spec"] == SPECS[kind]


def test_deep_nesting_is_refused_not_followed() -> None:
    with pytest.raises(ValueError, match="recursion limit"):
        decode(b"[" * 100_000)


def test_builders_share_nothing_and_say_what_they_are_reported() -> None:
    node = builders.node(
        "n",
        cpu="2",
        taints=["a=b:NoSchedule", "c:NoExecute"],
        labels={"zone": "z"},
        resources={"nvidia.com/gpu": "1"},
    )
    assert node["status"]["allocatable"] == {
        "cpu": "2",
        "memory": "16Gi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "nvidia.com/gpu": "1",
    }
    assert node["spec"]["taints"] == [
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "c", "effect": "NoExecute"},
    ]
    assert node["metadata"]["labels"]["zone"] == "z"
    node["status"]["allocatable"]["cpu"] = "0"
    assert node["status"]["capacity"]["cpu"] == "2"
    affinity = {"nodeAffinity": {"x": [1]}}
    pod = builders.pod("p", cpu="100m", priority=0, node_selector={"a": "b"}, affinity=affinity)
    assert pod["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}
    assert (pod["spec"]["priority"], pod["spec"]["nodeSelector"]) == (0, {"a": "b"})
    pod["spec"]["affinity"]["nodeAffinity"]["x"].append(2)
    assert affinity == {"nodeAffinity": {"x": [1]}}
    with pytest.raises(ValueError, match="key=value:Effect"):
        builders.node("n", taints=["nonsense"])
