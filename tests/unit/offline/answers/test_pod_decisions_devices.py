"""`devices.score` decides which devices a node gives, and how good the node is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy import Snapshot, compile_policy, explain, simulate
from kpolicy.policy.assembly.assemble import Program
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import Object
from tests.unit.policy.policies import policy

VERSION = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"


def program(*rules: str, release: str = "") -> Program:
    scores = [
        {"name": f"r{at}", "weight": at + 1, "expression": text} for at, text in enumerate(rules)
    ]
    spec = f"devices: {{score: {json.dumps(scores)}}}" if rules else ""
    made = compile_policy(policy(spec, base=""), every_pod=True, release=release).program
    assert made is not None
    return made


def node_with(name: str, *islands: int, **more: Any) -> list[Object]:
    """A node with a GPU for each number, on the island of that number."""
    devices = [
        {"name": f"d{at}", "attributes": {"island": {"int": island}}, **more}
        for at, island in enumerate(islands)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    slice_ = {
        "apiVersion": VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }
    return [node(name), slice_]


def claim(name: str, *requests: dict[str, Any]) -> Object:
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"devices": {"requests": list(requests)}},
    }


def asked(count: int, name: str = "g", **more: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    return {"name": name, "exactly": exactly}


def asking(name: str, *claims: str) -> Object:
    made = pod(name)
    made["spec"]["resourceClaims"] = [{"name": c, "resourceClaimName": c} for c in claims]
    return made


CLASS: Object = {
    "apiVersion": VERSION,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}


def explained(items: list[Object], decided_by: Program) -> dict[str, dict[str, Any]]:
    [found] = explain(Snapshot.of([CLASS, *items]), decided_by, ["p"]).explanations
    return {each["name"]: each for each in found["nodes"]} | {"": found}


def devices(line: dict[str, Any]) -> list[str]:
    results = (own["result"]["devices"]["results"] for own in line["allocations"])
    return [result["device"] for listed in results for result in listed]


TOGETHER = f"100 / allocation.distinct('{DRIVER}/island')"


@pytest.mark.parametrize("release", ["1.34", "1.36", "1.37"])
def test_a_node_gives_what_the_rule_puts_first_and_scores_its_value(release: str) -> None:
    items = [*node_with("a", 1, 2, 2), *node_with("b", 1, 2, 3)]
    items += [claim("c", asked(2)), asking("p", "c")]
    plain = explained(items, program(release=release))
    assert devices(plain["a"]) == devices(plain["b"]) == ["d0", "d1"]
    assert "allocationScores" not in plain["a"]
    found = explained(items, program(TOGETHER, release=release))
    assert devices(found["a"]) == ["d1", "d2"]
    assert devices(found["b"]) == ["d0", "d1"], "none is better than the first"
    assert (found["a"]["raw"]["r0"], found["b"]["raw"]["r0"]) == (100, 50)
    assert found["a"]["allocationScores"]["values"] == {"r0": 100}
    assert found["a"]["allocationScores"]["isComplete"]
    assert found[""]["selected"] == "a"
    [bound] = found[""]["dra"]["bind"]["claims"]
    results = bound["status"]["allocation"]["devices"]["results"]
    assert [result["device"] for result in results] == ["d1", "d2"]


def test_several_rules_are_one_score_and_the_claims_of_a_pod_are_chosen_together() -> None:
    items = [*node_with("a", 1, 2, 3, 2), claim("c", asked(1)), claim("e", asked(1))]
    items += [asking("p", "c", "e")]
    second = "allocation.devices.exists(device, device.device == 'd3') ? 40 : 0"
    found = explained(items, program(TOGETHER, second))["a"]
    assert devices(found) == ["d1", "d3"]
    assert found["allocationScores"]["values"] == {"r0": 100, "r1": 40}
    assert (found["raw"]["devices.score"], found["weighted"]["devices.score"]) == (60, 180)


def test_what_is_left_is_counted_and_each_pod_sees_the_devices_of_those_before_it() -> None:
    fewest = "100 - 10 * allocation.left.devices - allocation.before.whole"
    items = [*node_with("a", 1, 2), *node_with("b", 1, 2, 3)]
    for name in ("p", "q", "r"):
        items += [claim(f"c{name}", asked(1)), asking(name, f"c{name}")]
    placed = simulate(Snapshot.of([CLASS, *items]), program(fewest)).pods
    assert [each.node for each in placed] == ["a", "a", "b"]
    found = explained(items, program(fewest))
    assert (found["a"]["raw"]["r0"], found["b"]["raw"]["r0"]) == (88, 77)


def test_shares_leave_the_rest_of_a_device() -> None:
    capacity = {"memory": {"value": "40Gi", "requestPolicy": {"default": "10Gi"}}}
    more = {"allowMultipleAllocations": True, "capacity": capacity}
    left = "100.0 * allocation.devices[0].leftOfPartition + double(allocation.left.devices)"
    items = [*node_with("a", 1, 2, **more), claim("c", asked(1)), asking("p", "c")]
    assert explained(items, program(left))["a"]["raw"]["r0"] == 77


def test_alternatives_stay_those_of_the_claim_and_allocated_claims_are_left_alone() -> None:
    listed = {"name": "g", "firstAvailable": [{"name": "two", "deviceClassName": "gpu",
              "allocationMode": "ExactCount", "count": 2}, {"name": "one",
              "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}]}  # fmt: skip
    items = [*node_with("a", 1, 2, 3), claim("c", listed), asking("p", "c")]
    found = explained(items, program("allocation.size == 1 ? 100 : 0"))["a"]
    assert devices(found) == ["d0", "d1"]
    allotted = claim("c", asked(1))
    result = {"request": "g", "driver": DRIVER, "pool": "a", "device": "d2"}
    allotted["status"] = {"allocation": {"devices": {"results": [result]}}}
    again = explained([*node_with("a", 1, 2, 3), allotted, asking("p", "c")], program(TOGETHER))[
        "a"
    ]
    assert "allocationScores" not in again
    assert "r0" not in again["raw"]


def test_a_rule_that_errs_counts_nothing_and_says_why() -> None:
    items = [*node_with("a", 1, 2), claim("c", asked(1)), asking("p", "c")]
    found = explained(items, program("allocation.devices[4].leftOfPool"))["a"]
    assert devices(found) == ["d0"]
    [error] = found["errors"]
    assert error["rule"] == "r0"
    assert found["allocationScores"]["values"] == {"r0": None}


def test_an_extended_resource_is_chosen_too() -> None:
    backed = {**CLASS, "spec": {"extendedResourceName": "example.com/gpu"}}
    items = [*node_with("a", 1, 2, 2), pod("p", resources={"example.com/gpu": "2"})]
    [found] = explain(Snapshot.of([backed, *items]), program(TOGETHER), ["p"]).explanations
    assert devices(found["nodes"][0]) == ["d1", "d2"]
