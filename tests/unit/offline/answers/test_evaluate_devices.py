"""Facts of a node's devices: by driver, by class and by the value of an attribute."""

from __future__ import annotations

from typing import Any

import pytest

import kpolicy
from kpolicy import Snapshot
from kpolicy.testing import node, pod

VERSION = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
Json = dict[str, Any]


def device_slice(name: str, on: str, generation: int, *devices: Json) -> Json:
    pool = {"name": "pool", "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": on, "pool": pool, "devices": list(devices)}
    metadata = {"name": name, "uid": name}
    return {"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def device(name: str, model: str, island: int) -> Json:
    version = {f"{DRIVER}/firmware": {"version": "1.2.0"}}
    attributes = {"model": {"string": model}, "island": {"int": island}, **version}
    return {"name": name, "attributes": attributes}


def device_class(name: str, *selectors: str) -> Json:
    spec = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
    metadata = {"name": name, "uid": name}
    return {"apiVersion": VERSION, "kind": "DeviceClass", "metadata": metadata, "spec": spec}


def claim_of(device_name: str) -> Json:
    result = {"request": "g", "driver": DRIVER, "pool": "pool", "device": device_name}
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": "used", "namespace": "default", "uid": "used"},
        "spec": {"devices": {"requests": [{"name": "g"}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


CLUSTER = (
    node("n"),
    node("bare"),
    pod("p"),
    device_slice("old", "n", 1, device("gone", "H100", 0)),
    device_slice(
        "new",
        "n",
        2,
        device("a", "H100", 0),
        device("b", "H100", 0),
        device("c", "H100", 1),
        device("d", "A100", 1),
    ),
    device_class("large", f"device.attributes['{DRIVER}'].model == 'H100'"),
    device_class("of-island", "device.driver != ''", f"device.attributes['{DRIVER}'].island == 1"),
    device_class("wrong", f"device.attributes['{DRIVER}'].nothing == 1"),
    device_class("every"),
    claim_of("c"),
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"node.devices.count('{DRIVER}')", 4),
        (f"node.devices.free('{DRIVER}')", 3),
        ("node.devices.countOfClass('large')", 3),
        ("node.devices.freeOfClass('large')", 2),
        ("node.devices.countOfClass('of-island')", 2),
        ("node.devices.freeOfClass('of-island')", 1),
        ("node.devices.countOfClass('every')", 4),
        ("node.devices.countOfClass('wrong')", 0),
        ("node.devices.countOfClass('no-class')", 0),
        (f"node.devices.countWith('{DRIVER}', 'model', 'H100')", 3),
        (f"node.devices.freeWith('{DRIVER}', 'model', 'H100')", 2),
        (f"node.devices.countWith('{DRIVER}', '{DRIVER}/model', 'A100')", 1),
        (f"node.devices.countWith('{DRIVER}', 'island', '1')", 2),
        (f"node.devices.countWith('{DRIVER}', '{DRIVER}/firmware', '1.2.0')", 4),
        (f"node.devices.countWith('{DRIVER}', 'island', 'one')", 0),
        ("node.devices.countWith('other', 'model', 'H100')", 0),
    ],
)
def test_devices_are_counted_as_claims_would_choose_them(expression: str, value: int) -> None:
    found = kpolicy.evaluate(expression, snapshot=Snapshot.of(CLUSTER), pod="default/p", node="n")
    assert found.value == value
    bare = kpolicy.evaluate(expression, snapshot=Snapshot.of(CLUSTER), pod="default/p", node="bare")
    assert bare.value == 0
