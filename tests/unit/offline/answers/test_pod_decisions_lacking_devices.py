"""Nodes that have too few devices: for each request, what keeps which devices from it."""

from __future__ import annotations

from typing import Any

from kpolicy import Snapshot
from kpolicy.offline.answers.pod_decisions import explain
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.testing import pod
from tests.unit.offline.answers.test_pod_decisions_devices import (
    CLASS,
    DRIVER,
    asked,
    asking,
    claim,
    node_with,
)
from tests.unit.offline.worlds import Object


def supplies(*items: Object) -> list[dict[str, Any]]:
    """Of the only node, for the pod p."""
    [found] = explain(Snapshot.of([CLASS, *items]), default_program(), ["p"]).explanations
    [only] = found["nodes"]
    assert only["filter"]["reasons"] == ["cannot allocate all claims"]
    listed: list[dict[str, Any]] = only["devices"]
    return listed


def selector(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}


def test_the_first_selector_that_refuses_a_device_is_named() -> None:
    islands = f"device.attributes['{DRIVER}'].island"
    request = asked(1, selectors=[selector(f"{islands} > 0"), selector(f"{islands} > 2")])
    strict = {**CLASS, "metadata": {"name": "strict"}}
    strict["spec"] = {"selectors": [selector(f"{islands} != 1")]}
    request["exactly"]["deviceClassName"] = "strict"
    [supply] = supplies(strict, *node_with("n", 0, 1, 2, 2), claim("c", request), asking("p", "c"))
    assert supply["refusedBy"] == {
        "class strict: selector #0": 1,
        "request g: selector #0": 1,
        "request g: selector #1": 2,
    }
    assert (supply["seen"], supply["accepted"], supply["free"]) == (4, 0, 0)


def test_devices_in_use_name_their_claims_and_tainted_ones_are_counted() -> None:
    items = node_with("n", 1, 1, 1)
    items[1]["spec"]["devices"][2]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    used = claim("used", asked(1))
    result = {"request": "g", "driver": DRIVER, "pool": "n", "device": "d0"}
    used["status"] = {"allocation": {"devices": {"results": [result]}}}
    [supply] = supplies(*items, used, claim("c", asked(2)), asking("p", "c"))
    assert (supply["inUse"], supply["usedBy"]) == (1, ["default/used"])
    assert (supply["tainted"], supply["free"], supply["wanted"]) == (1, 1, 2)
    assert supply["refusedBy"] == {}


def test_devices_whose_counters_others_have_used_up_are_not_free() -> None:
    def consuming(amount: int) -> list[dict[str, Any]]:
        return [{"counterSet": "whole", "counters": {"slices": {"value": str(amount)}}}]

    items = node_with("n", 1, 1, 1)
    shared = {"name": "whole", "counters": {"slices": {"value": "3"}}}
    devices = items[1]["spec"]["devices"]
    for device, amount in zip(devices, (2, 1, 2), strict=True):
        device["consumesCounters"] = consuming(amount)
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 2}
    items[1]["spec"]["pool"] = pool
    counters = {**items[1], "metadata": {"name": "counters"}}
    counters["spec"] = {
        "driver": DRIVER,
        "nodeName": "n",
        "pool": pool,
        "sharedCounters": [shared],
    }
    used = claim("used", asked(1))
    result = {"request": "g", "driver": DRIVER, "pool": "n", "device": "d0"}
    used["status"] = {"allocation": {"devices": {"results": [result]}}}
    [supply] = supplies(*items, counters, used, claim("c", asked(2)), asking("p", "c"))
    assert (supply["inUse"], supply["outOfCounters"], supply["free"]) == (1, 1, 1)


def test_a_pod_that_fits_has_no_supplies() -> None:
    items = [*node_with("n", 1), claim("c", asked(1)), asking("p", "c"), pod("other")]
    [found] = explain(Snapshot.of([CLASS, *items]), default_program(), ["p"]).explanations
    assert "devices" not in found["nodes"][0]
