"""`simulate` with a policy that orders the queue or holds pods; the shipped ones among them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy import Snapshot, compile_policy, explain, simulate
from kpolicy.offline.answers.pod_decisions import SimulatedPod
from kpolicy.policy.compile import shipped_source
from kpolicy.testing import node, pod


def simulated(name: str, *items: dict[str, Any], **params: Any) -> list[SimulatedPod]:
    return simulate(of(items), program(name, params)).pods


def program(name: str, params: dict[str, Any]) -> Any:
    compiled = compile_policy([shipped_source(name)], params=params, every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def of(items: tuple[dict[str, Any], ...]) -> Snapshot:
    return Snapshot.of(items)


def names(pods: list[SimulatedPod]) -> list[str]:
    return [each.pod.partition("/")[2] for each in pods if each.node]


def created(item: dict[str, Any], text: str) -> dict[str, Any]:
    item["metadata"]["creationTimestamp"] = text
    return item


def test_fair_share_takes_tenants_in_turn_by_their_weights() -> None:
    pods = [pod(f"a{n}", "a", "1") for n in range(4)] + [pod(f"b{n}", "b", "1") for n in range(4)]
    placed = names(simulated("fair-share", node("n", cpu="6"), *pods))
    assert placed == ["a0", "b0", "a1", "b1", "a2", "b2"]
    weighted = names(simulated("fair-share", node("n", cpu="6"), *pods, weights={"b": 2.0}))
    assert weighted == ["a0", "b0", "b1", "a1", "b2", "b3"]


def test_the_earliest_deadline_is_first() -> None:
    def due(name: str, at: str) -> dict[str, Any]:
        return pod(name, annotations={"scheduling.kpolicy.dev/deadline": at})

    placed = simulated(
        "deadline",
        node("n"),
        created(pod("usual"), "2026-11-26T12:00:00Z"),
        due("late", "2026-11-28T00:00:00Z"),
        due("early", "2026-11-27T00:00:00Z"),
        due("never", "when it is done"),
    )
    assert names(placed) == ["early", "usual", "late", "never"]


def test_small_pods_are_first() -> None:
    pods = [pod("large", cpu="3"), pod("thick", cpu="1", memory="12Gi"), pod("small", cpu="2")]
    placed = names(simulated("small-first-with-ageing", node("n", cpu="9"), *pods))
    assert placed == ["small", "large", "thick"]


def test_held_pods_come_last_and_say_what_holds_them() -> None:
    pods = [pod(f"a{n}", "a", "1") for n in range(3)]
    found = simulated("tenant-quotas", node("n"), *pods, caps={"a": 2})
    assert names(found) == ["a0", "a1"]
    assert found[-1].rejected_by == ("tenant-cap",)
    assert found[-1].message == "tenant a has 2 of at most 2 cpus"


@pytest.mark.parametrize("cap", [0, 5])
def test_explain_says_what_holds_a_pod(cap: int) -> None:
    items = (node("n"), pod("p", "a", "1"))
    [line] = explain(of(items), program("tenant-quotas", {"caps": {"a": cap}})).explanations
    assert line.get("selected") == (None if cap == 0 else "n")
    if cap == 0:
        assert line["preEnqueue"]["plugin"] == "tenant-cap"
        assert "PodDelete" in json.dumps(line["waitsFor"])
