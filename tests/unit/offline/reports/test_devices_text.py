"""What is said of nodes that have too few devices."""

from __future__ import annotations

from typing import Any

from kpolicy.offline.reports.devices_text import devices_text, together_text

NOTHING: dict[str, Any] = {
    "seen": 4,
    "accepted": 3,
    "refusedBy": {"class gpu: selector #0": 1},
    "inUse": 0,
    "usedBy": [],
    "tainted": 0,
    "short": 0,
    "outOfCounters": 0,
    "isAll": False,
}


def node(name: str, free: int, **counts: Any) -> dict[str, Any]:
    supply = {"claim": "d/c", "request": "r", "wanted": 2, "free": free, **NOTHING, **counts}
    return {"name": name, "devices": [supply]}


def test_devices_are_counted_over_the_nodes_that_have_too_few() -> None:
    nodes = [node("a", 1, inUse=2, usedBy=["d/x"]), node("b", 0, tainted=3), {"name": "c"}]
    assert devices_text({"nodes": nodes}) == [
        "",
        "  devices of nodes that have too few",
        (
            "    d/c, request r  wants 2, a node has at most 1 free  of 8 seen, 6 accepted  "
            "2 refused by class gpu: selector #0; 2 in use by d/x; 3 tainted"
        ),
    ]
    assert devices_text({"nodes": [{"name": "c"}]}) == []


def test_all_devices_and_counters_are_called_so() -> None:
    nodes = [node("a", 0, isAll=True, wanted=0, outOfCounters=2)]
    (_, _, row) = devices_text({"nodes": nodes})
    assert "wants all, a node has at most 0 free" in row
    assert row.endswith("2 with too little left of their counters")


def test_nodes_on_which_only_the_requests_together_are_too_many_are_counted() -> None:
    enough, short = node("a", 2), node("b", 1)
    assert together_text([short]) == ""
    assert together_text([enough, short]).startswith("1 node has enough for each request by itself")
    both = {"name": "c", "devices": [*enough["devices"], *short["devices"]]}
    assert together_text([both, enough, enough]).startswith("2 nodes have enough")


def test_the_devices_of_the_chosen_node_are_named() -> None:
    def giving(name: str, device: str) -> dict[str, Any]:
        result = {"request": "r", "driver": "gpu.example.com", "pool": name, "device": device}
        return {
            "name": name,
            "allocations": [{"claim": "d/c", "result": {"devices": {"results": [result]}}}],
        }

    explained = {"selected": "b", "nodes": [giving("a", "g0"), giving("b", "g1")]}
    assert devices_text(explained) == [
        "",
        "  devices that b would give",
        "    d/c, request r  gpu.example.com/b/g1",
    ]


def test_claims_that_have_their_devices_elsewhere_are_named() -> None:
    explained = {"nodes": [{"name": "a"}], "dra": {"unavailable": ["d/c"]}}
    assert devices_text(explained) == ["", "  claims whose devices are on other nodes", "    d/c"]
