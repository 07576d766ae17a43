"""The map of nodes: by zone and rack, and by rack alone where there are too many nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.offline.pages import node_map
from kpolicy.offline.pages.node_map import MapNode, NodeMap

NODES = [
    MapNode("n1", "a", "r1", (0.2, None)),
    MapNode("n2", "a", "r1", (0.4, 0.12345)),
    MapNode("n3", "b", "", (-1, 1.0)),
]


def tree(nodes: list[MapNode]) -> Any:
    (series,) = NodeMap("Map", ("cpu", "memory"), nodes).drawing().option["series"]
    return series["data"]


def test_zones_have_racks_and_racks_have_nodes() -> None:
    zone, other = tree(NODES)
    assert zone["name"] == "a"
    (rack,) = zone["children"]
    assert [(each["name"], each["fills"]) for each in rack["children"]] == [
        ("n1", [0.2, None]),
        ("n2", [0.4, 0.123]),
    ]
    # No zone of racks where no node names one.
    assert [each["name"] for each in other["children"]] == ["n3"]


def test_many_nodes_are_a_tile_for_each_rack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_map, "PAGE_NODES_MAX", 2)
    zone, other = tree(NODES)
    (tile,) = zone["children"]
    assert (tile["name"], tile["value"], tile["fills"]) == ("r1", 2, [0.3, 0.123])
    assert other["children"][0]["fills"] == [-1, 1.0]
